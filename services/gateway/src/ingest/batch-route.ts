import { BODY_LIMITS, MAX_BODY_BYTES, ROUTES } from '@nextvisit/contracts'
import { type BatchItem, parseBatch, parseBatchItem, parseUncheckedJson } from '@nextvisit/domain'
import { errorBody, type Refusal, REFUSALS, refuse, refuseBody } from '../refusals/refusals.ts'
import { yieldBetween } from '../http/turns/yield-between.ts'
import { answer, type CheckedRequest, type Route, type Result } from '../http/route.ts'
import type { RequestedItem } from './plan-batch.ts'
import { itemOf, type RecordMany, refusedItemsOf } from './record-many.ts'
import type { RecordKind } from './stages.ts'

/** The kinds of items, by their `type`. */
type ItemKinds = Readonly<Record<'identify' | 'track', RecordKind>>

/** Patterns of the single routes. The `Idempotency-Key` of an item belongs to them. */
const ROUTE_OF = { identify: ROUTES.identifyUser.pattern, track: ROUTES.trackEvent.pattern } as const

/** Creates `POST /v2/admin/batch` (decisions.md, Batch). Each item gets the answer of its single route. */
export function createBatchRoute(recordMany: RecordMany, kinds: ItemKinds): Route {
  return {
    ...ROUTES.recordBatch,
    parseBody: parseUncheckedJson,
    maxItems: BODY_LIMITS.batchItems,
    itemsOf: ({ body, idempotency }) => {
      const parsed = parseBatch(body)
      if (parsed.outcome === 'rejected') return refuseBody(parsed)
      return idempotency === 'malformed' ? refuse(REFUSALS.idempotencyKey) : parsed.items
    },
    handle: async (batch, items) => {
      const results = await recordMany(await yieldBetween(items, (item, at) => itemOfBatch(batch, kinds, item, at)))
      return { ...answer(200, { results: results.map(resultBody) }), refusedItems: refusedItemsOf(results, items) }
    },
  }
}

function itemOfBatch(
  batch: CheckedRequest,
  kinds: ItemKinds,
  item: unknown,
  position: number,
): RequestedItem | Refusal {
  const parsed = parseBatchItem(item, position)
  if (parsed.outcome === 'rejected') return refuseBody(parsed)
  const bytes = singleBodyOf(parsed.body)
  if (Buffer.byteLength(bytes) > MAX_BODY_BYTES) return refuse(REFUSALS.tooLarge(MAX_BODY_BYTES))
  const { type, body, idempotencyKey } = parsed
  const batchKey = typeof batch.idempotency === 'object' ? batch.idempotency.key : undefined
  // The item's own key, or else the key of the batch with the item's position.
  const key = idempotencyKey === undefined ? { key: batchKey, suffix: position } : { key: idempotencyKey }
  return itemOf(batch, kinds[type], body, { ...key, route: ROUTE_OF[type], bytes })
}

/** Returns the body for the single route, without white space. */
function singleBodyOf({ type: _type, idempotencyKey: _key, ...body }: BatchItem['body']): string {
  return JSON.stringify(body)
}

/** Returns the answer of the single route. */
function resultBody(result: Result): object {
  if (result.outcome === 'refused') return errorBody(result.status, result.message)
  return { status: result.status, ...result.body }
}
