import { ROUTES } from '@nextvisit/contracts'
import { parseBatch, parseUncheckedJson } from '@nextvisit/domain'
import { type Answer, answer } from '../api/answer.ts'
import { errorBody, type Refusal, REFUSALS, refuse, refuseBody } from '../api/refusals.ts'
import type { Route } from '../http/route.ts'
import { createPrepareItem } from './batch-item.ts'
import { createPrepare, recordItems, type RecordItemsParts, refusedItemsOf } from './record-items.ts'

/** `POST /v2/admin/batch` (decisions.md, Batch). Each item is answered like a request of its own. */
export function createRecordBatch(parts: RecordItemsParts): Route {
  const prepare = createPrepare(parts)
  return {
    ...ROUTES.recordBatch,
    parseBody: parseUncheckedJson,
    itemsOf: ({ body, idempotent }) => {
      const parsed = parseBatch(body)
      if (parsed.outcome === 'rejected') return refuseBody(parsed)
      return idempotent === 'malformed' ? refuse(REFUSALS.idempotencyKey) : parsed
    },
    handle: async (batch, items) => {
      const results = await recordItems(items, createPrepareItem(batch, prepare))
      return { ...answer(200, { results: results.map(resultBody) }), refusedItems: refusedItemsOf(results, items) }
    },
  }
}

/** What the single route would have answered. */
function resultBody(result: Answer | Refusal): object {
  if (result.outcome === 'refused') return errorBody(result.status, result.message)
  return { status: result.status, ...result.body }
}
