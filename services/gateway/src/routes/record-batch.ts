import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseBatch, parseUncheckedJson } from '@nextvisit/domain'
import type { Logger } from '@nextvisit/service-kit'
import { type Answer, answer } from '../request/answer.ts'
import { errorBody, REFUSALS, type Refusal, refuse, refuseBody } from '../request/refusals.ts'
import { type CheckedRequest, type Route, ROUTES } from '../request/route.ts'
import { createPrepareItem, type Prepare, type PreparedItem } from './batch-item.ts'
import type { IdentifyRecording } from './identify-user.ts'
import type { PrepareRecord } from './prepare-record.ts'
import type { TrackRecording } from './track-event.ts'

export interface RecordBatchParts {
  readonly prepareRecord: PrepareRecord
  readonly identify: IdentifyRecording
  readonly track: TrackRecording
  readonly logger: Logger
}

/** So many items take about a millisecond: then other requests have their turn. */
const ITEMS_PER_TURN = 50

/**
 * `POST /v2/admin/batch` (decisions.md, Batch). Each item is prepared and answered like a request of its own. All are
 * prepared at the same time, so their questions to other services go out together; then all are published, in their order.
 */
export function createRecordBatch({ prepareRecord, identify, track, logger }: RecordBatchParts): Route {
  const prepare: Prepare = async (type, request) => {
    const onFailed = (err: unknown) => {
      const { requestId, traceparent } = request
      logger.error({ err, requestId, traceparent, route: ROUTES.recordBatch.pattern }, 'An item of a batch failed')
      return refuse(REFUSALS.broken)
    }
    const preparing = type === 'identify' ? prepareRecord(identify, request) : prepareRecord(track, request)
    const prepared = await preparing.catch(onFailed)
    if (prepared.outcome !== 'prepared') return prepared
    let published: Promise<Answer | Refusal> | undefined
    return { ...prepared, publish: () => (published ??= prepared.publish().catch(onFailed)) }
  }

  /** In the order of the items. Never rejects. */
  async function recordAll(batch: CheckedRequest, items: readonly unknown[]): Promise<readonly (Answer | Refusal)[]> {
    const prepareItem = createPrepareItem(batch, prepare)
    const preparing: Promise<PreparedItem>[] = []
    for (const [position, item] of items.entries()) {
      if (position > 0 && position % ITEMS_PER_TURN === 0) await nextTurn()
      preparing.push(prepareItem(item, position))
    }
    const prepared = await Promise.all(preparing)
    return Promise.all(prepared.map(async (one) => (one.outcome === 'prepared' ? one.publish() : one)))
  }

  return {
    ...ROUTES.recordBatch,
    parseBody: parseUncheckedJson,
    handle: async (batch) => {
      const parsed = parseBatch(batch.body)
      if (parsed.outcome === 'rejected') return refuseBody(parsed)
      if (batch.idempotent === 'malformed') return refuse(REFUSALS.idempotencyKey)
      const { items } = parsed
      // The first was taken before the body was read.
      const taken = items.length > 1 ? await batch.takeBatchTokens(items.length - 1) : undefined
      if (taken?.outcome === 'refused') return taken
      const results = await recordAll(batch, items)
      return answer(200, { results: results.map(resultBody) })
    },
  }
}

/** What the single route would have answered. */
function resultBody(result: Answer | Refusal): object {
  if (result.outcome === 'refused') return errorBody(result.status, result.message)
  return { status: result.status, ...result.body }
}
