import { memberOf } from '@nextvisit/domain'
import { REFUSALS, refuse } from '../api/refusals.ts'
import type { CheckedRequest } from '../http/route.ts'
import { type AskedItem, type Ended, hasEnded } from './stages.ts'

/** An item of a batch that asks for a record. */
export interface ItemToPlan extends AskedItem {
  /** Length as JSON, by which items take turns. */
  readonly length: number
  /** Creates the item's user, if that user certainly does not exist. */
  readonly creation: UserCreation | undefined
}

/** The identify that creates a user. It is asked for only when it is needed. */
export interface UserCreation {
  readonly request: CheckedRequest
  readonly userName: string
  readonly ask: () => AskedItem
}

/** A record that a batch makes: an item's, or the identify that creates the user of some items. */
export type Step = {
  /** Numbers the users of the batch. */
  readonly user: number
  /** The step that creates the user of an item. */
  readonly createdBy: number | undefined
} & (
  | { readonly type: 'item'; readonly item: ItemToPlan }
  | { readonly type: 'creation'; readonly creation: UserCreation }
)

/** Where the result of an item comes from. */
export interface PlannedResult {
  /** A step, or the result of an item that needs none. */
  readonly from: number | Ended
  /** The step whose refusal is the item's, too. */
  readonly createdBy: number | undefined
}

export interface BatchPlan {
  /** In the order of the items. */
  readonly steps: readonly Step[]
  /** One for each item. */
  readonly results: readonly PlannedResult[]
}

interface PlannedUser {
  readonly user: number
  /** The step that creates the user for the events since the last identify. */
  createdBy: number | undefined
}

/**
 * Plans a batch. Items with one key and one body share a step: kept answers cannot tell, since all are under way at once.
 * The creation of a user precedes each run of that user's events. An identify ends a run, because it may be refused.
 */
export function planBatch(items: readonly (ItemToPlan | Ended)[]): BatchPlan {
  const steps: Step[] = []
  /** By userName. */
  const users = new Map<unknown, PlannedUser>()
  /** By the name of the key: the first item that has it. */
  const keyed = new Map<string, { readonly recordId: string; readonly result: PlannedResult }>()
  const add = (step: Step): number => steps.push(step) - 1

  const results = items.map((item): PlannedResult => {
    if (hasEnded(item)) return { from: item, createdBy: undefined }
    const { kind, idempotency, creation, id: recordId } = item
    const name = typeof idempotency === 'object' ? idempotency.name : undefined
    const first = name === undefined ? undefined : keyed.get(name)
    if (first?.recordId === recordId) return first.result

    const userName = memberOf(item.body, 'userName')
    const known: PlannedUser = users.get(userName) ?? { user: users.size, createdBy: undefined }
    users.set(userName, known)
    const { user } = known
    if (creation) known.createdBy ??= add({ type: 'creation', creation, user, createdBy: undefined })
    const createdBy = kind.identifies ? undefined : known.createdBy
    if (first) return { from: refuse(REFUSALS.keyOfAnother), createdBy }

    if (kind.identifies) known.createdBy = undefined
    const result = { from: add({ type: 'item', item, user, createdBy }), createdBy }
    if (name !== undefined) keyed.set(name, { recordId, result })
    return result
  })
  return { steps, results }
}
