import type { IncomingMessage } from 'node:http'
import { createGunzip } from 'node:zlib'
import { remainingMs } from '@nextvisit/service-kit'
import { MAX_BODY_PIECES, type Refusal, REFUSALS, refuse } from '../api/refusals.ts'
import type { BodyPermit } from './body-budget.ts'

/** A body must have arrived so long after its headers. */
export const BODY_WITHIN_MS = 2_000

const MAX_DISCARDED_BYTES = 1_048_576
const MAX_DISCARD_MS = 1_000

type ReadBody = { readonly outcome: 'ok'; readonly bytes: Buffer } | { readonly outcome: 'aborted' } | Refusal

/** How a body is read: what it may hold, and until when it must have arrived, a `performance.now()` instant. */
interface BodyReading {
  readonly permit: BodyPermit
  /** As sent, and as inflated. */
  readonly maxBytes: number
  readonly dueAt: number
  /** Runs what inflates it, as soon as it is its caller's turn. */
  readonly inTurn: <Result>(inflating: () => Promise<Result>) => Promise<Result | 'crowded'>
}

/** Reads a body, and stops at the limit: by `Content-Length` before reading where there is one. */
export async function readBody(request: IncomingMessage, reading: BodyReading): Promise<ReadBody> {
  const { maxBytes } = reading
  if (saysTooLarge(request, maxBytes)) return refuse(REFUSALS.tooLarge(maxBytes))
  const body = await collect(request, reading)
  reading.permit.finish()
  if (body.outcome !== 'ok' || encodingOf(request) !== 'gzip') return body
  const inflated = await reading.inTurn(() => inflate(body.bytes, reading))
  return inflated === 'crowded' ? refuse(REFUSALS.busy) : inflated
}

/** Whether a body is over the limit by its `Content-Length`. */
export function saysTooLarge(request: IncomingMessage, maxBytes: number): boolean {
  return Number(request.headers['content-length'] ?? 0) > maxBytes
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

function collect(request: IncomingMessage, { permit, maxBytes, dueAt }: BodyReading): Promise<ReadBody> {
  // The caller left while the checks before this waited: its `close` event is over.
  if (request.destroyed) return Promise.resolve({ outcome: 'aborted' })
  return new Promise((resolve) => {
    permit.onDisplaced(() => done(refuse(REFUSALS.tooManyBytes)))
    const chunks: Buffer[] = []
    let size = 0
    let timer: NodeJS.Timeout | undefined
    const done = (result: ReadBody) => {
      clearImmediate(arming)
      clearTimeout(timer)
      request.off('data', onData).off('end', onEnd).off('close', onClose)
      resolve(result)
    }
    const onData = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > maxBytes) done(refuse(REFUSALS.tooLarge(maxBytes)))
      else if (chunks.length > MAX_BODY_PIECES) done(refuse(REFUSALS.tooManyPieces))
      else if (!permit.take(chunk.length)) done(refuse(REFUSALS.tooManyBytes))
    }
    const onEnd = () => done({ outcome: 'ok', bytes: Buffer.concat(chunks) })
    const onClose = () => done({ outcome: 'aborted' })
    // After a stall of this process, what has arrived in the meantime is read first.
    const onLate = () => setImmediate(() => done(refuse(REFUSALS.bodyTooSlow)))
    // A body that came along with its headers has been parsed after this turn of the event loop, and needs no timer.
    const arming = setImmediate(() => {
      if (!request.complete) timer = setTimeout(onLate, remainingMs(dueAt))
    })
    request.on('data', onData).on('end', onEnd).on('close', onClose)
  })
}

/** Counts each piece as it comes: a thousandth of what comes out is enough to send. */
async function inflate(bytes: Buffer, { permit, maxBytes }: BodyReading): Promise<ReadBody> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of createGunzip().end(bytes) as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxBytes) return refuse(REFUSALS.tooLarge(maxBytes))
      if (!permit.take(chunk.length)) return refuse(REFUSALS.tooManyBytes)
      chunks.push(chunk)
    }
  } catch {
    return refuse(REFUSALS.notGzip)
  }
  return { outcome: 'ok', bytes: Buffer.concat(chunks) }
}

/**
 * Reads and drops what is left of a request that was answered early, so that its caller can read the answer: a socket
 * closed on unread bytes is reset. Bounded: a caller that goes on sending loses the connection.
 */
export function discardBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  let [bytes, pieces] = [0, 0]
  const timer = setTimeout(() => request.destroy(), MAX_DISCARD_MS)
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    pieces += 1
    if (bytes > MAX_DISCARDED_BYTES || pieces > MAX_BODY_PIECES) request.destroy()
  })
  request.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer))
  request.resume()
}
