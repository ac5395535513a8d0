import type { FormIndex } from '../form-index.ts'
import { checkGates } from '../gates/gates.ts'
import type { Moment } from '../../time/moment.ts'
import { type OpenRow, stateAt } from './queue.ts'
import type { UserState } from '../user-state.ts'

/**
 * Chooses at most one form to offer at a visit that was received at `now` (forms.md, The queue). `moreWaiting`: another live
 * form waits and its delay is over, so the caller should ask again soon.
 */
export function chooseForm(
  { byId, segments }: FormIndex,
  user: UserState,
  now: Moment,
): { readonly offer: OpenRow | undefined; readonly moreWaiting: boolean } {
  const isMember = segments.membersAt(user, now.ms)
  const waiting = [...user.queue.open.values()].filter((row) => {
    const form = byId.get(row.formId)
    if (!form || stateAt(row, now.ms) !== 'waiting' || Date.parse(row.showFrom) > now.ms) return false
    return form.gates.whileWaiting.every((gate) => gate.check(user, now, isMember).passed)
  })
  const [offer] = waiting
    .filter(({ formId }) => {
      const gates = byId.get(formId)?.gates.atVisit ?? []
      return checkGates(gates, user, now, isMember).reason === undefined
    })
    .toSorted(byUrgency)
  return { offer, moreWaiting: waiting.some((row) => row !== offer) }
}

/** Sorts by priority, highest first, then by queueing time and form id. */
function byUrgency(one: OpenRow, other: OpenRow): number {
  return (
    other.priority - one.priority ||
    Date.parse(one.queuedAt) - Date.parse(other.queuedAt) ||
    (one.formId < other.formId ? -1 : 1)
  )
}
