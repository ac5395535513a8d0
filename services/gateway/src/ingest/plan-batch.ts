import { memberOf } from '@nextvisit/domain'
import type { CheckedRequest, Result } from '../http/route.ts'
import { REFUSALS, refuse } from '../refusals/refusals.ts'
import type { RecordKind } from './stages.ts'

/** An item of a batch that asks for a record. */
export interface RequestedItem {
  readonly kind: RecordKind
  /** The request that the item's single route would get. */
  readonly request: CheckedRequest
  /** Length as JSON, which decides how many items fit into a turn. */
  readonly length: number
  /** Returns the identify that creates the item's user. Called if the user is known not to exist. */
  readonly createUser?: (() => RequestedItem) | undefined
}

/** One record of a batch: of an item, or the `creation` of the user of this item and of later ones. */
export interface Step {
  readonly type: 'item' | 'creation'
  readonly item: RequestedItem
  /** Number of the user in the batch. */
  readonly user: number
  /** The step that creates the item's user. */
  readonly createdBy: number | undefined
}

/** The source of an item's result. */
interface PlannedResult {
  /** A step, or the result itself if the item needs no step. */
  readonly from: number | Result
  /** The step whose refusal also refuses the item. */
  readonly createdBy: number | undefined
}

interface PlannedUser {
  readonly user: number
  /** The step that creates the user for events since the last identify. */
  createdBy: number | undefined
}

/**
 * Plans a batch: its steps and the results of its items, each in the order of the items. Items with the same key and
 * body share a step, because kept answers cannot detect repeats among items in flight. Each run of a user's events
 * starts with the creation of that user. An identify ends a run, since it may be refused.
 */
export function planBatch(items: readonly (RequestedItem | Result)[]) {
  const steps: Step[] = []
  /** Users by userName. */
  const users = new Map<unknown, PlannedUser>()
  /** The first item of each key, by the name of the key. */
  const keyed = new Map<string, { readonly recordId: string; readonly result: PlannedResult }>()
  const add = (step: Step): number => steps.push(step) - 1

  const results = items.map((item): PlannedResult => {
    if ('outcome' in item) return { from: item, createdBy: undefined }
    const { kind, request, createUser } = item
    const { idempotency, requestId: recordId, body } = request
    const name = typeof idempotency === 'object' ? idempotency.name : undefined
    const first = name === undefined ? undefined : keyed.get(name)
    if (first?.recordId === recordId) return first.result

    const userName = memberOf(body, 'userName')
    const known: PlannedUser = users.get(userName) ?? { user: users.size, createdBy: undefined }
    users.set(userName, known)
    const { user } = known
    if (createUser) known.createdBy ??= add({ type: 'creation', item, user, createdBy: undefined })
    const createdBy = kind.identifies ? undefined : known.createdBy
    if (first) return { from: refuse(REFUSALS.keyOfAnother), createdBy }

    if (kind.identifies) known.createdBy = undefined
    const result = { from: add({ type: 'item', item, user, createdBy }), createdBy }
    if (name !== undefined) keyed.set(name, { recordId, result })
    return result
  })
  return { steps, results }
}
