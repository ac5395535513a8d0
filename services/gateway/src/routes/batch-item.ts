import { randomUUIDv7 } from 'node:crypto'
import { type BatchItem, parseBatchItem } from '@nextvisit/domain'
import { idempotentRequestOf } from '@nextvisit/idempotency'
import { MAX_BODY_BYTES, REFUSALS, refuse, refuseBody, ROUTES } from '@nextvisit/public-api'
import type { CheckedRequest } from '../request/route.ts'
import { createPrepareInOrder, type Prepare, type PrepareItem } from './record-items.ts'

/** The route that would take an item alone: its `Idempotency-Key` belongs to it. */
const ROUTE_OF = { identify: ROUTES.identifyUser.pattern, track: ROUTES.trackEvent.pattern } as const

/** Prepares the items of one batch. */
export function createPrepareItem(batch: CheckedRequest, prepare: Prepare): PrepareItem {
  const prepareInOrder = createPrepareInOrder(prepare)
  return async (item, position) => {
    const parsed = parseBatchItem(item, position)
    if (parsed.outcome === 'rejected') return refuseBody(parsed)
    const single = singleBodyOf(parsed.body)
    if (Buffer.byteLength(single) > MAX_BODY_BYTES) return refuse(REFUSALS.tooLarge(MAX_BODY_BYTES))
    return prepareInOrder(parsed.type, itemRequestOf(batch, parsed, position, single))
  }
}

/** An item as a request of its own. Its own key counts, or else the key of its batch with its position. */
function itemRequestOf(
  batch: CheckedRequest,
  { type, body, idempotencyKey }: BatchItem,
  position: number,
  single: string,
): CheckedRequest {
  const batchKey = typeof batch.idempotent === 'object' ? batch.idempotent.key : undefined
  const idempotent = idempotentRequestOf({
    ...(idempotencyKey === undefined ? { key: batchKey, suffix: position } : { key: idempotencyKey }),
    project: batch.project,
    apiKey: batch.key.entry,
    route: ROUTE_OF[type],
    bytes: single,
  })
  const requestId = typeof idempotent === 'object' ? idempotent.recordId : randomUUIDv7()
  return { ...batch, requestId, idempotent, body }
}

/** What the single route would get, without white space. */
function singleBodyOf({ type: _type, idempotencyKey: _key, ...body }: BatchItem['body']): string {
  return JSON.stringify(body)
}
