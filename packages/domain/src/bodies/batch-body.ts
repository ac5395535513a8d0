import { BODY_LIMITS } from '@nextvisit/contracts'
import { BODY_RULES } from './body-rules.ts'
import { isJsonObject, type JsonObject, memberOf } from './json-object.ts'
import { checkJson } from './parse-json.ts'
import { reject, type Rejection } from './rejection.ts'

/** An item of a batch whose body is not checked yet. */
export interface BatchItem {
  readonly outcome: 'ok'
  readonly type: 'identify' | 'track'
  /** The item, including `type` and `idempotencyKey`. */
  readonly body: JsonObject
  /** As given. The ingest checks it. */
  readonly idempotencyKey: unknown
}

export type ParsedBatch = { readonly outcome: 'ok'; readonly items: readonly unknown[] } | Rejection

/** Parses the body of a batch (decisions.md, Batch). */
export function parseBatch(body: JsonObject): ParsedBatch {
  const items = memberOf(body, 'items')
  if (!Array.isArray(items) || items.length > BODY_LIMITS.batchItems) return reject(BODY_RULES.items)
  return { outcome: 'ok', items }
}

/** Parses one item, which may be refused alone. `index` names it in messages that no single route has. */
export function parseBatchItem(item: unknown, index: number): BatchItem | Rejection {
  const name = `items[${index}]`
  if (!isJsonObject(item)) return reject(BODY_RULES.item(name))
  const rejection = checkJson(item)
  if (rejection) return rejection
  const type = memberOf(item, 'type')
  if (type !== 'identify' && type !== 'track') return reject(BODY_RULES.itemType(`${name}.type`))
  return { outcome: 'ok', type, body: item, idempotencyKey: memberOf(item, 'idempotencyKey') }
}
