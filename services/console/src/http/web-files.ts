import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { reportUnread } from '@nextvisit/service-kit'
import type { RequestHandler } from 'express'

interface WebFile {
  readonly content: Buffer
  readonly gzipped: Buffer
  readonly type: string
  /** The name contains a hash of the content. */
  readonly isNamedByContent: boolean
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const PAGE = 'index.html'

/** Reads the built pages into memory. Rejects if they are not built. */
export async function readWebFiles(folder: string, basePath: string): Promise<RequestHandler> {
  const names = await readdir(folder, { recursive: true }).catch((cause: unknown) => {
    throw new Error('The pages of the console are not built. Run npx -y pnpm generate.', { cause })
  })
  const files = new Map<string, WebFile>()
  for (const name of names) {
    const type = TYPES[path.extname(name)]
    if (type === undefined) continue
    const read = await readFile(path.join(folder, name))
    const content = name === PAGE ? withBase(read, basePath) : read
    const gzipped = await promisify(gzip)(content)
    const isNamedByContent = name.startsWith('assets')
    files.set(name.replaceAll(path.sep, '/'), { content, gzipped, type, isNamedByContent })
  }

  return (request, response, next) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return next()
    const name = request.path.slice(1)
    // Every other address belongs to the one page.
    const file = files.get(name) ?? (name.startsWith('assets/') ? undefined : files.get(PAGE))
    if (!file) return next()
    const isGzipped = request.acceptsEncodings('gzip') === 'gzip'
    response.set({
      'content-type': file.type,
      vary: 'accept-encoding',
      'cache-control': file.isNamedByContent ? 'public, max-age=31536000, immutable' : 'no-cache',
    })
    if (isGzipped) response.set('content-encoding', 'gzip')
    const content = isGzipped ? file.gzipped : file.content
    response.send(content)
    reportUnread(response, content.byteLength)
  }
}

function withBase(page: Buffer, basePath: string): Buffer {
  return Buffer.from(page.toString().replace('<base href="/"', `<base href="${basePath}"`))
}
