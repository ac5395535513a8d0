import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import { maxBodyBytesOf, type RouteSignature } from '@nextvisit/contracts'
import { remainingMs } from '@nextvisit/service-kit'
import { MAX_BODY_PIECES, type Refusal, REFUSALS, refuse } from '../../refusals/refusals.ts'
import { type BodyPermit, createBodyBudget, KEY_IN_BODY } from './body-budget.ts'
import type { Aborted } from '../route.ts'
import { createTurnsByKey } from '../turns/turns-by-key.ts'

/** Time limit for a body, from the headers of its request. */
const BODY_WITHIN_MS = 2_000
/** Share of the requests in flight whose bodies may be unfinished for one key. */
const UNFINISHED_SHARE = 1 / 4
/** Bodies of one key that are inflated at once. More would fill the thread pool. Inflating waits for nothing else. */
const INFLATING = { atOnce: 8, heldForMs: 10_000 }

const MAX_DISCARDED_BYTES = 1_048_576
const MAX_DISCARD_MS = 1_000

export interface BodyReaderOptions {
  /** Maximum number of requests in flight. */
  readonly maxInFlight: number
  /** Maximum bytes of all bodies in flight, as sent and as inflated. */
  readonly maxBodyBytesInFlight: number
}

/** A request of a known route. */
interface Arriving {
  readonly route: RouteSignature
  readonly request: IncomingMessage
  /** When its headers had arrived, a `performance.now()` instant. */
  readonly beganAt: number
  /** Bytes of the body so far, as sent and as inflated. */
  readBytes: number
}

/** A body that its key's share of the memory holds until `release`. */
export interface ReceivedBody extends Pick<BodyPermit, 'moveTo' | 'release'> {
  readonly outcome: 'received'
  readonly bytes: Uint8Array
}

type ReadBody = { readonly outcome: 'ok'; readonly bytes: Buffer } | Aborted | Refusal

/** The limits of one body. */
interface BodyReading {
  readonly permit: BodyPermit
  /** Maximum size in bytes, as sent and as inflated. */
  readonly maxBytes: number
  /** When the body must have arrived, a `performance.now()` instant. */
  readonly dueAt: number
  /** Inflates the body once its key has a turn. */
  readonly inTurn: <Result>(inflating: () => Promise<Result>) => Promise<Result | 'crowded'>
}

/**
 * Receives bodies, each within its key's share of the memory (decisions.md, Slow and large). Without a `key`, the body
 * names it: {@link KEY_IN_BODY} holds the body until `moveTo`.
 */
export function createBodyReader({ maxInFlight, maxBodyBytesInFlight }: BodyReaderOptions) {
  const maxUnfinishedPerKey = Math.ceil(maxInFlight * UNFINISHED_SHARE)
  const openBody = createBodyBudget({ maxBytes: maxBodyBytesInFlight, maxUnfinishedPerKey })
  const inflateInTurn = createTurnsByKey(INFLATING)

  async function permitFor(key: string, request: IncomingMessage): Promise<BodyPermit | undefined> {
    const permit = openBody(key, !request.complete)
    if (permit) return permit
    // Node has parsed a body that came with its headers after this turn of the event loop.
    await nextTurn()
    return openBody(key, !request.complete)
  }

  return async (arriving: Arriving, key = KEY_IN_BODY): Promise<ReceivedBody | Aborted | Refusal> => {
    const { route, request, beganAt } = arriving
    // Segment's libraries that compress send no Content-Type, or a wrong one.
    if (!route.keyIn && !isJson(request)) return refuse(REFUSALS.contentType)
    if (!hasKnownEncoding(request)) return refuse(REFUSALS.contentEncoding)
    const permit = await permitFor(key, request)
    if (!permit) return refuse(REFUSALS.unfinishedBodies)
    const take = (bytes: number): boolean => {
      arriving.readBytes += bytes
      return permit.take(bytes)
    }
    let body: ReadBody | undefined
    try {
      body = await readBody(request, {
        permit: { ...permit, take },
        maxBytes: maxBodyBytesOf(route),
        dueAt: beganAt + BODY_WITHIN_MS,
        inTurn: (inflating) => inflateInTurn(key, inflating),
      })
    } finally {
      if (body?.outcome !== 'ok') permit.release()
    }
    if (body.outcome !== 'ok') return body
    return { outcome: 'received', bytes: body.bytes, moveTo: permit.moveTo, release: permit.release }
  }
}

/** Reads a body up to its limits. A `Content-Length` over `maxBytes` is refused before reading. */
export async function readBody(request: IncomingMessage, reading: BodyReading): Promise<ReadBody> {
  const { maxBytes } = reading
  if (saysTooLarge(request, maxBytes)) return refuse(REFUSALS.tooLarge(maxBytes))
  const body = await collect(request, reading)
  reading.permit.finish()
  if (body.outcome !== 'ok' || encodingOf(request) !== 'gzip') return body
  const inflated = await reading.inTurn(() => inflate(body.bytes, reading))
  return inflated === 'crowded' ? refuse(REFUSALS.busy) : inflated
}

/** Returns true if the `Content-Length` is over the limit. */
export function saysTooLarge(request: IncomingMessage, maxBytes: number): boolean {
  return Number(request.headers['content-length'] ?? 0) > maxBytes
}

/** Returns true if the request has no body, as curl sends it without `-d`. */
export function isEmpty({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
}

/** Names of UTF-8, as clients write it, and of ASCII, which is a part of it. */
const UTF_8: readonly string[] = ['utf-8', 'utf8', 'utf8mb4', 'us-ascii', 'ascii']

/** Returns true if the `Content-Type` is JSON in UTF-8. JSON knows no parameters, so all but `charset` are ignored. */
export function isJson({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';')
  return type.trim().toLowerCase() === 'application/json' && parameters.every(isNoOtherCharset)
}

function isNoOtherCharset(parameter: string): boolean {
  const [name = '', value = ''] = parameter.split('=')
  if (name.trim().toLowerCase() !== 'charset') return true
  return UTF_8.includes(
    value
      .trim()
      .replace(/^(["'])(.*)\1$/, '$2')
      .toLowerCase(),
  )
}

/** Returns true if {@link readBody} knows the `Content-Encoding`. */
export function hasKnownEncoding(request: Pick<IncomingMessage, 'headers'>): boolean {
  return ['', 'identity', 'gzip'].includes(encodingOf(request))
}

function encodingOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  return headers['content-encoding']?.trim().toLowerCase() ?? ''
}

function collect(request: IncomingMessage, { permit, maxBytes, dueAt }: BodyReading): Promise<ReadBody> {
  // The caller left during the earlier checks, so its `close` event is over.
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
    // After a stall of this process, bytes that have arrived are read first.
    const onLate = () => setImmediate(() => done(refuse(REFUSALS.bodyTooSlow)))
    // A body that came with its headers is parsed after this turn of the event loop and needs no timer.
    const arming = setImmediate(() => {
      if (!request.complete) timer = setTimeout(onLate, remainingMs(dueAt))
    })
    request.on('data', onData).on('end', onEnd).on('close', onClose)
  })
}

/** Inflates a body, and counts each piece at once: a body may inflate a thousandfold. */
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
 * Drops the rest of a request that was answered early, so that its caller can read the answer: closing a socket with
 * unread bytes resets it. A caller who keeps sending is disconnected.
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
