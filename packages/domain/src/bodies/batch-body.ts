import { BODY_LIMITS, BODY_RULES } from './body-rules.ts'
import { isJsonObject, type JsonObject, memberOf } from './json-object.ts'
import { checkJson } from './parse-json.ts'
import { reject, type Rejection } from './rejection.ts'

/** An item whose own body is still to be checked. */
export interface BatchItem {
  readonly outcome: 'ok'
  readonly type: 'identify' | 'track'
  /** The item, with the members of the batch in it: `type` and `idempotencyKey`. */
  readonly body: JsonObject
  /** As given: whoever records the item checks it. */
  readonly idempotencyKey: unknown
}

export type ParsedBatch = { readonly outcome: 'ok'; readonly items: readonly unknown[] } | Rejection

/** The body of a batch as a whole (decisions.md, Batch). */
export function parseBatch(body: JsonObject): ParsedBatch {
  const items = memberOf(body, 'items')
  if (!Array.isArray(items) || items.length > BODY_LIMITS.batchItems) return reject(BODY_RULES.items)
  return { outcome: 'ok', items }
}

/** What is an item's own: it is refused alone. `index` names it where no single route would take it. */
export function parseBatchItem(item: unknown, index: number): BatchItem | Rejection {
  const name = `items[${index}]`
  if (!isJsonObject(item)) return reject(BODY_RULES.item(name))
  const rejection = checkJson(item)
  if (rejection) return rejection
  const type = memberOf(item, 'type')
  if (type !== 'identify' && type !== 'track') return reject(BODY_RULES.itemType(`${name}.type`))
  return { outcome: 'ok', type, body: item, idempotencyKey: memberOf(item, 'idempotencyKey') }
}
