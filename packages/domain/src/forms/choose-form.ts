import type { FormIndex } from './form-index.ts'
import { checkGates, GATES_OF_A_VISIT, refusalOf } from './gates.ts'
import type { Moment } from './moment.ts'
import { type OpenRow, stateAt } from './queue.ts'
import type { UserState } from './user-state.ts'

export interface Choice {
  /** The form to offer at this visit. */
  readonly offer: OpenRow | undefined
  /** Another live form waits, for a later visit. */
  readonly moreWaiting: boolean
}

/** At most one form for a visit at `now` (when it was received): forms.md, The queue. */
export function chooseForm(index: FormIndex, user: UserState, now: Moment): Choice {
  const waiting = [...user.queue.open.values()].filter((row) => {
    const form = index.byId.get(row.formId)
    return form && stateAt(row, now.ms) === 'waiting' && form.gates.live.check(user, now).passed
  })
  const [offer] = waiting
    .filter((row) => Date.parse(row.showFrom) <= now.ms && isPassing(index, row, user, now))
    .toSorted(byUrgency)
  return { offer, moreWaiting: waiting.some((row) => row !== offer) }
}

function isPassing(index: FormIndex, row: OpenRow, user: UserState, now: Moment): boolean {
  const gates = index.byId.get(row.formId)?.gates
  return gates !== undefined && refusalOf(gates, checkGates(gates, GATES_OF_A_VISIT, user, now)) === undefined
}

/** The highest priority, then the earliest queued, then form id. */
function byUrgency(one: OpenRow, other: OpenRow): number {
  return (
    other.priority - one.priority ||
    Date.parse(one.queuedAt) - Date.parse(other.queuedAt) ||
    (one.formId < other.formId ? -1 : 1)
  )
}
