import { ROUTES } from '@nextvisit/contracts'
import { parseBatch, parseUncheckedJson } from '@nextvisit/domain'
import { type Answer, answer } from '../api/answer.ts'
import { errorBody, type Refusal, REFUSALS, refuse, refuseBody } from '../api/refusals.ts'
import type { Route } from '../http/route.ts'
import { createPrepareItem } from './batch-item.ts'
import { createPrepare, recordItems, type RecordItemsParts } from './record-items.ts'

/** `POST /v2/admin/batch` (decisions.md, Batch). Each item is answered like a request of its own. */
export function createRecordBatch(parts: RecordItemsParts): Route {
  const prepare = createPrepare(parts)
  return {
    ...ROUTES.recordBatch,
    parseBody: parseUncheckedJson,
    handle: async (batch) => {
      const parsed = parseBatch(batch.body)
      if (parsed.outcome === 'rejected') return refuseBody(parsed)
      if (batch.idempotent === 'malformed') return refuse(REFUSALS.idempotencyKey)
      const { items } = parsed
      const taken = await batch.pay(items)
      if (taken.outcome === 'refused') return taken
      const results = await recordItems(batch, items, createPrepareItem(batch, prepare))
      return answer(200, { results: results.map(resultBody) })
    },
  }
}

/** What the single route would have answered. */
function resultBody(result: Answer | Refusal): object {
  if (result.outcome === 'refused') return errorBody(result.status, result.message)
  return { status: result.status, ...result.body }
}
