import { randomUUIDv7 } from 'node:crypto'
import { type BatchItem, memberOf, parseBatchItem } from '@nextvisit/domain'
import { idempotentRequestOf } from '../idempotency/idempotent-request.ts'
import type { Answer } from '../request/answer.ts'
import { REFUSALS, type Refusal, refuse, refuseBody } from '../request/refusals.ts'
import { type CheckedRequest, ROUTES } from '../request/route.ts'
import type { PreparedRecord } from './prepare-record.ts'

export type PreparedItem = PreparedRecord | Answer | Refusal
/** Prepares an item as the single route of its type would. `publish` may be called more than once. Never rejects. */
export type Prepare = (type: BatchItem['type'], request: CheckedRequest) => Promise<PreparedItem>

/** The route that would take an item alone: its `Idempotency-Key` belongs to it. */
const ROUTE_OF = { identify: ROUTES.identifyUser.pattern, track: ROUTES.trackEvent.pattern } as const

/** Prepares the items of one batch, to be called in their order. */
export function createPrepareItem(batch: CheckedRequest, prepare: Prepare) {
  /** By userName: whether an item so far identifies the user. */
  const identified = new Map<unknown, Promise<boolean>>()
  /** By the name of its key: the first item that has it. */
  const keyed = new Map<string, { readonly recordId: string; readonly prepared: Promise<PreparedItem> }>()

  function prepareRequest({ type, body }: BatchItem, request: CheckedRequest): Promise<PreparedItem> {
    const userName = memberOf(body, 'userName')
    const isIdentified = identified.get(userName)
    const prepared = prepare(type, isIdentified ? { ...request, isIdentified } : request)
    if (type === 'identify') identified.set(userName, wouldIdentify(prepared, isIdentified))
    return prepared
  }

  return async (item: unknown, position: number): Promise<PreparedItem> => {
    const parsed = parseBatchItem(item, position)
    if (parsed.outcome === 'rejected') return refuseBody(parsed)
    const request = itemRequestOf(batch, parsed, position)
    const { idempotent } = request
    if (typeof idempotent !== 'object') return prepareRequest(parsed, request)
    // All items are under way at the same time, so kept answers would not know the first one's.
    const { name, recordId } = idempotent
    const first = keyed.get(name) ?? { recordId, prepared: prepareRequest(parsed, request) }
    keyed.set(name, first)
    return first.recordId === recordId ? first.prepared : refuse(REFUSALS.keyOfAnother)
  }
}

async function wouldIdentify(prepared: Promise<PreparedItem>, before: Promise<boolean> | undefined): Promise<boolean> {
  return (await prepared).outcome !== 'refused' || (await before) === true
}

/** An item as a request of its own. Its own key counts, or else the key of its batch with its position. */
function itemRequestOf(
  batch: CheckedRequest,
  { type, body, idempotencyKey }: BatchItem,
  position: number,
): CheckedRequest {
  const batchKey = typeof batch.idempotent === 'object' ? batch.idempotent.key : undefined
  const isKeyed = idempotencyKey !== undefined || batchKey !== undefined
  const idempotent = idempotentRequestOf({
    ...(idempotencyKey === undefined ? { key: batchKey, position } : { key: idempotencyKey }),
    project: batch.project,
    apiKey: batch.key.entry,
    route: ROUTE_OF[type],
    bytes: isKeyed ? singleBodyOf(body) : '',
  })
  const requestId = typeof idempotent === 'object' ? idempotent.recordId : randomUUIDv7()
  return { ...batch, requestId, idempotent, body }
}

/** What the single route would get, without white space. */
function singleBodyOf({ type: _type, idempotencyKey: _key, ...body }: BatchItem['body']): string {
  return JSON.stringify(body)
}
