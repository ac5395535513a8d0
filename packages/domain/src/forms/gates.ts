import { createHash } from 'node:crypto'
import type { CompiledForm } from './form-index.ts'
import { stateAt } from './queue.ts'
import type { UserState } from './user-state.ts'

/** Why a form did not reach a user. */
export type GateReason =
  | 'not-live'
  | 'not-in-audience'
  | 'sampled-out'
  | 'repeat-exhausted'
  | 'too-soon'
  | 'cooling-down'
  | 'already-waiting'

/** Why this form may not be queued for this user at `now` (when the record was received); undefined: it passes. */
export type Gate = (form: CompiledForm, user: UserState, now: number) => GateReason | undefined

export const live: Gate = (form, _user, now) =>
  form.isEnabled && now >= form.startsAt && now < form.endsAt ? undefined : 'not-live'

export const audience: Gate = (form, user, now) => (form.audience(user, now) ? undefined : 'not-in-audience')

/** Sticky for each form and user: a form never draws again. */
export const sample: Gate = (form, user) =>
  form.sample >= 100 || bucketOf(form.id, user.userId) < form.sample * 100 ? undefined : 'sampled-out'

function bucketOf(formId: string, userId: string): number {
  return createHash('sha256').update(`${formId}:${userId}`).digest().readUInt32BE(0) % 10_000
}

/** This form's clock. What waits and what was delivered counts; cancelled and expired ones give it back. */
export const repeat: Gate = ({ id, repeat: limit }, user, now) => {
  if (limit === 'always') return undefined
  const shown = user.shown.get(id)
  if ('everyMs' in limit) return isSince(shown?.lastAt, limit.everyMs, now) ? undefined : 'too-soon'
  const timesQueued = (shown?.times ?? 0) + (user.open.has(id) ? 1 : 0)
  return timesQueued < limit.times ? undefined : 'repeat-exhausted'
}

/** Any form's clock. */
export const cooldown: Gate = (form, user, now) =>
  form.cooldownMs === 0 || isSince(lastShownAt(user, now), form.cooldownMs, now) ? undefined : 'cooling-down'

/** When any form was last shown to this user; an open offer counts as shown. */
function lastShownAt(user: UserState, now: number): number | undefined {
  const offers = [...user.open.values()].filter((form) => stateAt(form, now) === 'offered')
  const instants = [...user.shown.values()]
    .map(({ lastAt }) => lastAt)
    .concat(offers.map((form) => form.offeredAt ?? now))
  return instants.length === 0 ? undefined : Math.max(...instants)
}

function isSince(instant: number | undefined, atLeastMs: number, now: number): boolean {
  return instant === undefined || now - instant >= atLeastMs
}

/** One row a user and form. */
export const slot: Gate = (form, user) => (user.open.has(form.id) ? 'already-waiting' : undefined)

/** In this order; the first that fails is the recorded reason (forms.md, Gates). */
export const GATES: readonly Gate[] = [live, audience, sample, repeat, cooldown, slot]

/** The reason of the first of `gates` that fails. */
export function firstRefusal(
  gates: readonly Gate[],
  form: CompiledForm,
  user: UserState,
  now: number,
): GateReason | undefined {
  for (const gate of gates) {
    const reason = gate(form, user, now)
    if (reason) return reason
  }
  return undefined
}
