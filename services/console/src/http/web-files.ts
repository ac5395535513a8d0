import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { RequestHandler } from 'express'

interface WebFile {
  readonly content: Buffer
  readonly type: string
  /** Its name holds a hash of its content. */
  readonly isNamedByContent: boolean
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const PAGE = 'index.html'

/** Reads the built pages into memory. Rejects with what to do where they are not built. */
export async function readWebFiles(folder: string, basePath: string): Promise<RequestHandler> {
  const names = await readdir(folder, { recursive: true }).catch((cause: unknown) => {
    throw new Error('The pages of the console are not built: run npx -y pnpm generate.', { cause })
  })
  const files = new Map<string, WebFile>()
  for (const name of names) {
    const type = TYPES[path.extname(name)]
    if (type === undefined) continue
    const content = await readFile(path.join(folder, name))
    files.set(name.replaceAll(path.sep, '/'), { content, type, isNamedByContent: name.startsWith('assets') })
  }
  const page = files.get(PAGE)?.content.toString().replace('<base href="/"', `<base href="${basePath}"`)
  if (page !== undefined)
    files.set(PAGE, { content: Buffer.from(page), type: TYPES['.html'] ?? '', isNamedByContent: false })

  return (request, response, next) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return next()
    const name = request.path.slice(1)
    // Every other address is a state of the one page.
    const file = files.get(name) ?? (name.startsWith('assets/') ? undefined : files.get(PAGE))
    if (!file) return next()
    response.set({
      'content-type': file.type,
      'cache-control': file.isNamedByContent ? 'public, max-age=31536000, immutable' : 'no-cache',
    })
    response.send(file.content)
  }
}
