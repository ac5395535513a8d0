import { createHash } from 'node:crypto'
import type { GateReason } from '@nextvisit/contracts'
import type { Finding } from './conditions.ts'
import type { CompiledForm } from './form-index.ts'
import { type OpenForm, stateAt } from './queue.ts'
import type { UserState } from './user-state.ts'

/** The form that was shown last. */
export interface LastShown {
  readonly formId: string
  readonly at: number
  /** It was offered, and may yet be confirmed. */
  readonly isOffer: boolean
}

/** How a gate decided, and what it compared. Instants in ms. */
interface Check<Name extends string, Compared> {
  readonly gate: Name
  /** Absent: it passes. */
  readonly reason: GateReason | undefined
  readonly compared: Compared
}

export type GateCheck =
  /** Without a date: an infinite one. */
  | Check<'live', Readonly<{ isEnabled: boolean; startsAt: number; endsAt: number; now: number }>>
  | Check<'audience', Finding>
  /** In hundredths of a percent. Where nobody is left out, nothing is drawn. */
  | Check<'sample', Readonly<{ bucket: number | undefined; below: number }>>
  | Check<
      'repeat',
      Readonly<{ rule: CompiledForm['repeatRule']; timesQueued: number; lastShownAt: number | undefined }>
    >
  /** Where there is no cooldown, nothing is looked up. */
  | Check<'cooldown', Readonly<{ cooldownMs: number; lastShown: LastShown | undefined }>>
  | Check<'slot', Readonly<{ waiting: Pick<OpenForm, 'state' | 'queuedAt'> | undefined }>>

/** Whether this form may be queued for this user at `now` (when the record was received). */
export type Gate = (form: CompiledForm, user: UserState, now: number) => GateCheck

export const live: Gate = ({ isEnabled, startsAt, endsAt }, _user, now) => ({
  gate: 'live',
  reason: isEnabled && now >= startsAt && now < endsAt ? undefined : 'not-live',
  compared: { isEnabled, startsAt, endsAt, now },
})

export const audience: Gate = (form, user, now) => {
  const compared = form.audience(user, now)
  return { gate: 'audience', reason: compared.holds ? undefined : 'not-in-audience', compared }
}

/** Sticky for each form and user: a form never draws again. */
export const sample: Gate = (form, user) => {
  const below = form.sample * 100
  const bucket = form.sample >= 100 ? undefined : bucketOf(form.id, user.userId)
  const isDrawn = bucket === undefined || bucket < below
  return { gate: 'sample', reason: isDrawn ? undefined : 'sampled-out', compared: { bucket, below } }
}

function bucketOf(formId: string, userId: string): number {
  return createHash('sha256').update(`${formId}:${userId}`).digest().readUInt32BE(0) % 10_000
}

/** This form's clock. What waits and what was delivered counts; cancelled and expired ones give it back. */
export const repeat: Gate = ({ id, repeat: limit, repeatRule: rule }, user, now) => {
  const shown = user.shown.get(id)
  const timesQueued = (shown?.times ?? 0) + (user.open.has(id) ? 1 : 0)
  const compared = { rule, timesQueued, lastShownAt: shown?.lastAt }
  if (limit === 'always') return { gate: 'repeat', reason: undefined, compared }
  if ('everyMs' in limit) {
    const isOver = isSince(shown?.lastAt, limit.everyMs, now)
    return { gate: 'repeat', reason: isOver ? undefined : 'too-soon', compared }
  }
  return { gate: 'repeat', reason: timesQueued < limit.times ? undefined : 'repeat-exhausted', compared }
}

/** Any form's clock. */
export const cooldown: Gate = ({ cooldownMs }, user, now) => {
  const lastShown = cooldownMs === 0 ? undefined : findLastShown(user, now)
  const isOver = cooldownMs === 0 || isSince(lastShown?.at, cooldownMs, now)
  return { gate: 'cooldown', reason: isOver ? undefined : 'cooling-down', compared: { cooldownMs, lastShown } }
}

/** Which form was last shown to this user, and when; an open offer counts as shown. */
function findLastShown(user: UserState, now: number): LastShown | undefined {
  let last: LastShown | undefined
  for (const [formId, { lastAt }] of user.shown) {
    if (!last || lastAt > last.at) last = { formId, at: lastAt, isOffer: false }
  }
  for (const form of user.open.values()) {
    if (stateAt(form, now) !== 'offered') continue
    const at = form.offeredAt ?? now
    if (!last || at > last.at) last = { formId: form.formId, at, isOffer: true }
  }
  return last
}

function isSince(instant: number | undefined, atLeastMs: number, now: number): boolean {
  return instant === undefined || now - instant >= atLeastMs
}

/** One row a user and form. */
export const slot: Gate = (form, user) => {
  const open = user.open.get(form.id)
  const waiting = open && { state: open.state, queuedAt: open.queuedAt }
  return { gate: 'slot', reason: waiting && 'already-waiting', compared: { waiting } }
}

/** In this order; the first that fails is the recorded reason (forms.md, Gates). */
export const GATES: readonly Gate[] = [live, audience, sample, repeat, cooldown, slot]

/** What each of `gates` says, up to the first that fails: it is the last, and its reason is why. */
export function checkGates(
  gates: readonly Gate[],
  form: CompiledForm,
  user: UserState,
  now: number,
): readonly GateCheck[] {
  const checks: GateCheck[] = []
  for (const gate of gates) {
    const check = gate(form, user, now)
    checks.push(check)
    if (check.reason) break
  }
  return checks
}

/** The reason of the first gate that failed; undefined: all of them pass. */
export function refusalOf(checks: readonly GateCheck[]): GateReason | undefined {
  return checks.at(-1)?.reason
}
