import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { maxBodyBytesOf, type RouteSignature } from '@nextvisit/contracts'
import { type Refusal, REFUSALS, refuse } from '../api/refusals.ts'
import { type BodyPermit, createBodyBudget, KEY_IN_BODY } from './body-budget.ts'
import { BODY_WITHIN_MS, hasKnownEncoding, isJson, readBody } from './read-body.ts'
import { createTurnsByKey } from './turns-by-key.ts'

export interface BodyReaderOptions {
  /** Requests at once. */
  readonly maxInFlight: number
  /** Bytes of bodies at once, as sent and as inflated. */
  readonly maxBodyBytesInFlight: number
}

/** A request of a known route. */
interface Arriving {
  readonly route: RouteSignature
  readonly request: IncomingMessage
  /** When its headers had arrived, a `performance.now()` instant. */
  readonly beganAt: number
}

/** Of the requests in flight, as many of one key may have a body that has not arrived completely. */
const UNFINISHED_SHARE = 1 / 4
/** Bodies of one key that are inflated at once. More would fill the thread pool. What is inflated waits for nothing else. */
const INFLATING = { atOnce: 8, worksForMs: 10_000 }

/** Reads bodies, each within its key's share of the memory for all of them (decisions.md, Slow and large). */
export function createBodyReader({ maxInFlight, maxBodyBytesInFlight }: BodyReaderOptions) {
  const maxUnfinishedPerKey = Math.ceil(maxInFlight * UNFINISHED_SHARE)
  const openBody = createBodyBudget({ maxBytes: maxBodyBytesInFlight, maxUnfinishedPerKey })
  const inflateInTurn = createTurnsByKey(INFLATING)

  async function permitFor(key: string, request: IncomingMessage): Promise<BodyPermit | undefined> {
    const permit = openBody(key, !request.complete)
    if (permit) return permit
    // A body that came along with its headers has been parsed after this turn of the event loop.
    await nextTurn()
    return openBody(key, !request.complete)
  }

  /** Until `handle` has settled, the body is a part of what its key holds. Without `key`, that stands in the body: see `moveTo`. */
  return async <Result>(
    { route, request, beganAt }: Arriving,
    key: string | undefined,
    handle: (bytes: Uint8Array, permit: Pick<BodyPermit, 'moveTo'>) => Promise<Result>,
  ): Promise<Result | Refusal | { readonly outcome: 'aborted' }> => {
    // Libraries of Segment's API that compress name no type, or a wrong one.
    if (!route.keyIn && !isJson(request)) return refuse(REFUSALS.contentType)
    if (!hasKnownEncoding(request)) return refuse(REFUSALS.contentEncoding)
    const holder = key ?? KEY_IN_BODY
    const permit = await permitFor(holder, request)
    if (!permit) return refuse(REFUSALS.unfinishedBodies)
    try {
      const read = await readBody(request, {
        permit,
        maxBytes: maxBodyBytesOf(route),
        dueAt: beganAt + BODY_WITHIN_MS,
        inTurn: (inflating) => inflateInTurn(holder, inflating),
      })
      return read.outcome === 'ok' ? await handle(read.bytes, permit) : read
    } finally {
      permit.release()
    }
  }
}
