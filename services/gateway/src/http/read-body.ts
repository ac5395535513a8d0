import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { gunzip as gunzipCallback } from 'node:zlib'
import { type Refusal, refuse } from '../refusal.ts'

/** 100 KB, of the body as sent and of what gzip makes of it (decisions.md, Order of checks). */
const MAX_BODY_BYTES = 102_400

const gunzip = promisify(gunzipCallback)

export type ReadBody = { readonly outcome: 'ok'; readonly bytes: Buffer } | { readonly outcome: 'aborted' } | Refusal

/** Reads a body, and stops at the limit: by `Content-Length` before reading where there is one. */
export async function readBody(request: IncomingMessage): Promise<ReadBody> {
  if (saysTooLarge(request)) return tooLarge()
  const body = await collect(request)
  return body.outcome === 'ok' && isGzip(request) ? inflate(body.bytes) : body
}

/** Whether a body is over the limit by its `Content-Length`. */
export function saysTooLarge(request: IncomingMessage): boolean {
  return Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES
}

/** Whether a body's `Content-Encoding` is one that {@link readBody} knows. */
export function hasKnownEncoding(request: IncomingMessage): boolean {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase()
  return encoding === undefined || encoding === '' || encoding === 'identity' || encoding === 'gzip'
}

function isGzip(request: IncomingMessage): boolean {
  return request.headers['content-encoding']?.trim().toLowerCase() === 'gzip'
}

function collect(request: IncomingMessage): Promise<ReadBody> {
  // The caller left while the checks before this waited: its `close` has been told already.
  if (request.destroyed) return Promise.resolve({ outcome: 'aborted' })
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    const done = (result: ReadBody) => {
      request.off('data', onData).off('end', onEnd).off('close', onClose)
      resolve(result)
    }
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size > MAX_BODY_BYTES) done(tooLarge())
      else chunks.push(chunk)
    }
    const onEnd = () => done({ outcome: 'ok', bytes: Buffer.concat(chunks) })
    const onClose = () => done({ outcome: 'aborted' })
    request.on('data', onData).on('end', onEnd).on('close', onClose)
  })
}

async function inflate(bytes: Buffer): Promise<ReadBody> {
  try {
    return { outcome: 'ok', bytes: await gunzip(bytes, { maxOutputLength: MAX_BODY_BYTES }) }
  } catch (error) {
    const isBomb = error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    return isBomb ? tooLarge() : refuse(400, 'The body must be valid gzip, as its Content-Encoding says')
  }
}

function tooLarge(): Refusal {
  return refuse(413, `The body must be at most ${MAX_BODY_BYTES} bytes`)
}
