import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { gunzip as gunzipCallback } from 'node:zlib'
import { REFUSALS, type Refusal, refuse } from './refusals.ts'

/** 100 KB, of the body as sent and of what gzip makes of it (decisions.md, Order of checks). */
export const MAX_BODY_BYTES = 102_400
const TOO_LARGE = REFUSALS.tooLarge(MAX_BODY_BYTES)

const MAX_DISCARDED_BYTES = 1_048_576
const MAX_DISCARD_MS = 1_000

const gunzip = promisify(gunzipCallback)

export type ReadBody = { readonly outcome: 'ok'; readonly bytes: Buffer } | { readonly outcome: 'aborted' } | Refusal

/** Reads a body, and stops at the limit: by `Content-Length` before reading where there is one. */
export async function readBody(request: IncomingMessage): Promise<ReadBody> {
  if (saysTooLarge(request)) return refuse(TOO_LARGE)
  const body = await collect(request)
  return body.outcome === 'ok' && encodingOf(request) === 'gzip' ? inflate(body.bytes) : body
}

/** Whether a body is over the limit by its `Content-Length`. */
export function saysTooLarge(request: IncomingMessage): boolean {
  return Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES
}

/**
 * Each quantifier is followed by a character that it does not match, so a test takes linear time: a caller may send 16 KB
 * of white space.
 */
const JSON_TYPE = /^application\/json\s*(?:;\s*(?:charset\s*=\s*"?utf-8"?\s*(?:;\s*)?)?)?$/i

/** Whether a body's `Content-Type` is JSON in UTF-8. */
export function isJson({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return JSON_TYPE.test(headers['content-type'] ?? '')
}

/** Whether a body's `Content-Encoding` is one that {@link readBody} knows. */
export function hasKnownEncoding(request: Pick<IncomingMessage, 'headers'>): boolean {
  return ['', 'identity', 'gzip'].includes(encodingOf(request))
}

function encodingOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  return headers['content-encoding']?.trim().toLowerCase() ?? ''
}

function collect(request: IncomingMessage): Promise<ReadBody> {
  // The caller left while the checks before this waited: its `close` event is over.
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
      if (size > MAX_BODY_BYTES) done(refuse(TOO_LARGE))
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
    return isBomb ? refuse(TOO_LARGE) : refuse(REFUSALS.notGzip)
  }
}

/**
 * Reads and drops what is left of a request that was answered early, so that its caller can read the answer: a socket
 * closed on unread bytes is reset. Bounded: a caller that goes on sending loses the connection.
 */
export function discardBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  let discarded = 0
  const timer = setTimeout(() => request.destroy(), MAX_DISCARD_MS)
  request.on('data', (chunk: Buffer) => {
    discarded += chunk.length
    if (discarded > MAX_DISCARDED_BYTES) request.destroy()
  })
  request.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer))
  request.resume()
}
