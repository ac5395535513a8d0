import type { FormIndex } from './form-index.ts'
import { audience, checkGates, cooldown, live, refusalOf } from './gates.ts'
import { type OpenForm, stateAt } from './queue.ts'
import type { UserState } from './user-state.ts'

export interface Choice {
  /** The form to offer at this visit. */
  readonly offer: OpenForm | undefined
  /** Another live form waits, for this visit's successors. */
  readonly moreWaiting: boolean
}

/** Checked again at the visit; sample, repeat and slot were settled when the form was queued. */
const GATES_OF_A_VISIT = [live, audience, cooldown]

/** At most one form for a visit at `now` (when it was received): forms.md, The queue. */
export function chooseForm(index: FormIndex, user: UserState, now: number): Choice {
  const waiting = [...user.open.values()].filter((row) => {
    const form = index.byId.get(row.formId)
    return form && stateAt(row, now) === 'waiting' && !live(form, user, now).reason
  })
  const [offer] = waiting.filter((row) => row.showFrom <= now && isPassing(index, row, user, now)).toSorted(byUrgency)
  return { offer, moreWaiting: waiting.some((row) => row !== offer) }
}

function isPassing(index: FormIndex, row: OpenForm, user: UserState, now: number): boolean {
  const form = index.byId.get(row.formId)
  return form !== undefined && refusalOf(checkGates(GATES_OF_A_VISIT, form, user, now)) === undefined
}

/** The highest priority, then the earliest queued, then form id. */
function byUrgency(one: OpenForm, other: OpenForm): number {
  return other.priority - one.priority || one.queuedAt - other.queuedAt || (one.formId < other.formId ? -1 : 1)
}
