import { randomUUIDv7 } from 'node:crypto'
import { type JsonObject, memberOf } from '@nextvisit/domain'
import type { RecordSequence } from '@nextvisit/log'
import type { Logger } from '@nextvisit/service-kit'
import type { Answer } from '../api/answer.ts'
import { type Refusal, REFUSALS, refuse } from '../api/refusals.ts'
import { type IdempotentContent, idempotentRequestOf } from '../http/idempotent-request.ts'
import { inTurns } from '../http/in-turns.ts'
import type { CheckedRequest, RefusedItem } from '../http/route.ts'
import type { IdentifyRecording } from './identify-user.ts'
import type { PreparedRecord, PrepareRecord } from './prepare-record.ts'
import type { TrackRecording } from './track-event.ts'

export type PreparedItem = PreparedRecord | Answer | Refusal
/** An item that is only published from here on: it may have several records. */
export type PublishableItem = Pick<PreparedRecord, 'outcome' | 'publish'> | Answer | Refusal
/** Prepares a request as the single route of its type would. `publish` may be called more than once. Never rejects. */
export type Prepare = (type: 'identify' | 'track', request: CheckedRequest) => Promise<PreparedItem>
/** Prepares one item; called in the order of the items. Never rejects. */
export type PrepareItem = (item: unknown, position: number) => Promise<PublishableItem>

export interface RecordItemsParts {
  readonly prepareRecord: PrepareRecord
  readonly identify: IdentifyRecording
  readonly track: TrackRecording
  readonly logger: Logger
}

/** An item as a request of its own, which has its own `Idempotency-Key` or none. */
export function itemRequestOf(request: CheckedRequest, body: JsonObject, content: IdempotentContent): CheckedRequest {
  const { project, key } = request
  const idempotent = idempotentRequestOf({ ...content, project, apiKey: key.entry })
  const requestId = typeof idempotent === 'object' ? idempotent.recordId : randomUUIDv7()
  return { ...request, requestId, idempotent, body }
}

/** {@link PrepareRecord} for one of many: what fails is refused alone. */
export function createPrepare({ prepareRecord, identify, track, logger }: RecordItemsParts): Prepare {
  return async (type, request) => {
    const onFailed = (err: unknown) => {
      const { requestId, traceparent } = request
      logger.error({ err, requestId, traceparent }, 'An item of a batch failed')
      return refuse(REFUSALS.broken)
    }
    const preparing = type === 'identify' ? prepareRecord(identify, request) : prepareRecord(track, request)
    const prepared = await preparing.catch(onFailed)
    if (prepared.outcome !== 'prepared') return prepared
    let published: Promise<Answer | Refusal> | undefined
    return { ...prepared, publish: () => (published ??= prepared.publish().catch(onFailed)) }
  }
}

/** What a caller sends again as it was. */
const RETRYABLE: readonly number[] = [409, 500, 503]

export function isRetryable({ status }: Answer | Refusal): boolean {
  return RETRYABLE.includes(status)
}

/** What the items so far say of a user. */
interface UserSoFar {
  readonly sequence: RecordSequence
  /** Whether one of them identifies the user. */
  isIdentified?: Promise<boolean>
  /** Whether one of them must be sent again. */
  isHeld?: Promise<boolean>
}

/**
 * {@link Prepare} for the items of one request, in their order: an event finds the user that an item before it identifies,
 * and items with one key have one result. Kept answers can't say so: all items are under way at the same time. Where an
 * item must be sent again, so must all later ones of its user: else they would overtake it, or be refused because the
 * user is still unknown. From the publish on, the user's sequence sees to that.
 */
export function createPrepareInOrder(prepare: Prepare): Prepare {
  /** By userName. */
  const users = new Map<unknown, UserSoFar>()
  /** By the name of its key: the first item that has it. */
  const keyed = new Map<string, { readonly recordId: string; readonly prepared: Promise<PreparedItem> }>()

  const prepareNext: Prepare = (type, request) => {
    const userName = memberOf(request.body, 'userName')
    const user = users.get(userName) ?? { sequence: { isBroken: false } }
    const { sequence, isIdentified, isHeld } = user
    users.set(userName, user)
    const ordered = { sequence, ...(isIdentified && { isIdentified }), ...request }
    const prepared = withoutOvertaking(isHeld, prepare(type, ordered))
    if (type === 'identify') user.isIdentified = wouldIdentify(prepared, isIdentified)
    user.isHeld = wouldHold(prepared, isHeld)
    return prepared
  }

  return async (type, request) => {
    const { idempotent } = request
    if (typeof idempotent !== 'object') return prepareNext(type, request)
    const { name, recordId } = idempotent
    const first = keyed.get(name) ?? { recordId, prepared: prepareNext(type, request) }
    keyed.set(name, first)
    return first.recordId === recordId ? first.prepared : refuse(REFUSALS.keyOfAnother)
  }
}

async function withoutOvertaking(
  isHeld: Promise<boolean> | undefined,
  preparing: Promise<PreparedItem>,
): Promise<PreparedItem> {
  const prepared = await preparing
  if (prepared.outcome === 'answered' || !(await isHeld)) return prepared
  if (prepared.outcome === 'prepared') await prepared.abandon()
  return refuse(REFUSALS.notRecorded)
}

async function wouldHold(preparing: Promise<PreparedItem>, before: Promise<boolean> | undefined): Promise<boolean> {
  const prepared = await preparing
  return (prepared.outcome === 'refused' && isRetryable(prepared)) || (await before) === true
}

async function wouldIdentify(prepared: Promise<PreparedItem>, before: Promise<boolean> | undefined): Promise<boolean> {
  return (await prepared).outcome !== 'refused' || (await before) === true
}

/**
 * Records the items of `request`. All are prepared at the same time, so their questions to other services go out
 * together; then all are published, in their order. Results are in the order of the items. Never rejects.
 */
export async function recordItems(
  items: readonly unknown[],
  prepareItem: PrepareItem,
): Promise<readonly (Answer | Refusal)[]> {
  const prepared = await Promise.all(await inTurns(items, prepareItem))
  return Promise.all(await inTurns(prepared, publishItem))
}

/** Returns the items that were refused. */
export function refusedItemsOf(
  results: readonly (Answer | Refusal)[],
  items: readonly unknown[],
): readonly RefusedItem[] {
  return results.flatMap((result, item) =>
    result.outcome === 'refused' ? [{ refusal: result, item, body: items[item] }] : [],
  )
}

/** The result of an item. Hands its record to the log before it returns, if it has one. */
export async function publishItem(item: PublishableItem): Promise<Answer | Refusal> {
  return item.outcome === 'prepared' ? item.publish() : item
}
