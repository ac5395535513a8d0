import { MAX_BODY_BYTES, ROUTES } from '@nextvisit/contracts'
import { type BatchItem, parseBatchItem } from '@nextvisit/domain'
import { REFUSALS, refuse, refuseBody } from '../api/refusals.ts'
import type { CheckedRequest } from '../http/route.ts'
import { createPrepareInOrder, itemRequestOf, type Prepare, type PrepareItem } from './record-items.ts'

/** The route that would take an item alone: its `Idempotency-Key` belongs to it. */
const ROUTE_OF = { identify: ROUTES.identifyUser.pattern, track: ROUTES.trackEvent.pattern } as const

/** Prepares the items of one batch. */
export function createPrepareItem(batch: CheckedRequest, prepare: Prepare): PrepareItem {
  const prepareInOrder = createPrepareInOrder(prepare)
  const batchKey = typeof batch.idempotent === 'object' ? batch.idempotent.key : undefined
  return async (item, position) => {
    const parsed = parseBatchItem(item, position)
    if (parsed.outcome === 'rejected') return refuseBody(parsed)
    const single = singleBodyOf(parsed.body)
    if (Buffer.byteLength(single) > MAX_BODY_BYTES) return refuse(REFUSALS.tooLarge(MAX_BODY_BYTES))
    const { type, body, idempotencyKey } = parsed
    // The item's own key counts, or else the key of its batch with its position.
    const key = idempotencyKey === undefined ? { key: batchKey, suffix: position } : { key: idempotencyKey }
    return prepareInOrder(type, itemRequestOf(batch, body, { ...key, route: ROUTE_OF[type], bytes: single }))
  }
}

/** What the single route would get, without white space. */
function singleBodyOf({ type: _type, idempotencyKey: _key, ...body }: BatchItem['body']): string {
  return JSON.stringify(body)
}
