import { createHash } from 'node:crypto'
import {
  type Condition,
  type ConditionLeaf,
  durationMs,
  type Form,
  GATE_NAMES,
  type GateName,
  type GateOutcome,
  type GateReason,
  type ProjectConfig,
} from '@nextvisit/contracts'
import { type IsMember, leavesOf } from './condition-tree.ts'
import { compileFinder } from './conditions.ts'
import { excerptOf } from './excerpt-of.ts'
import type { Moment } from './moment.ts'
import { type Queue, stateAt } from './queue.ts'
import type { UserState } from './user-state.ts'

/** A gate made ready for one form (forms.md, Gates). */
export interface Gate {
  /**
   * Whether the form may be queued for this user at `now`, when the record was received, and what was compared.
   * `isMember`: the user's segments at that moment.
   */
  readonly check: (user: UserState, now: Moment, isMember: IsMember) => GateOutcome
  /** What is recorded where it does not pass. */
  readonly reason: GateReason
  /** The conditions on facts about the user that it looks at. Facts that no gate asks for are neither loaded nor kept. */
  readonly asks: readonly ConditionLeaf[]
}

/** The gates of one form. */
export interface FormGates {
  /** All of them, in the order of forms.md: whether the form may be queued. */
  readonly toQueue: readonly Gate[]
  /** Checked again when a visit takes the form from the queue. The others were settled when it was queued. */
  readonly atVisit: readonly Gate[]
  readonly live: Gate
}

/** The others look at the user; `where` looks at the event, and belongs to a trigger (`compileTrigger`). */
type FormGateName = Exclude<GateName, 'where'>
const FORM_GATE_NAMES = GATE_NAMES.filter((name): name is FormGateName => name !== 'where')

export function compileGates(form: Form, project: ProjectConfig): FormGates {
  // To add a gate: its outcome in the contract, a function here, and a member of this object.
  const gates: Readonly<Record<FormGateName, Gate>> = {
    live: live(form),
    audience: audience(form),
    sample: sample(form),
    repeat: repeat(form),
    cooldown: cooldown(form, project),
    slot: slot(form),
  }
  return {
    toQueue: FORM_GATE_NAMES.map((name) => gates[name]),
    atVisit: [gates.live, gates.audience, gates.cooldown],
    live: gates.live,
  }
}

/** What gates say, in their order, up to the first that fails. Without a reason all of them pass. */
export interface Checked {
  readonly outcomes: readonly GateOutcome[]
  readonly reason: GateReason | undefined
}

export function checkGates(gates: readonly Gate[], user: UserState, now: Moment, isMember: IsMember): Checked {
  const outcomes: GateOutcome[] = []
  for (const { check, reason } of gates) {
    const outcome = check(user, now, isMember)
    outcomes.push(outcome)
    if (!outcome.passed) return { outcomes, reason }
  }
  return { outcomes, reason: undefined }
}

function live({ enabled, startsAt, endsAt }: Form): Gate {
  const startsAtMs = startsAt === undefined ? Number.NEGATIVE_INFINITY : Date.parse(startsAt)
  const endsAtMs = endsAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(endsAt)
  const dates = { startsAt: utcOf(startsAt), endsAt: utcOf(endsAt) }
  return {
    reason: 'not-live',
    asks: [],
    check: (_user, now) => ({
      gate: 'live',
      passed: enabled && now.ms >= startsAtMs && now.ms < endsAtMs,
      compared: { enabled, ...dates, now: now.iso },
    }),
  }
}

const EVERYBODY: Condition = { all: [] }

function audience({ audience: condition = EVERYBODY }: Form): Gate {
  const find = compileFinder(condition)
  return {
    reason: 'not-in-audience',
    asks: leavesOf(condition),
    check: (user, now, isMember) => {
      const { holds, leaf, negated, actual } = find(user, now.ms, isMember)
      return { gate: 'audience', passed: holds, compared: { leaf, negated, actual: excerptOf(actual) } }
    },
  }
}

/** Sticky for each form and user: a form never draws again. Where nobody is left out, nothing is drawn. */
function sample({ id, sample: percent }: Form): Gate {
  const threshold = timesHundred(percent)
  return {
    reason: 'sampled-out',
    asks: [],
    check: ({ userId }) => {
      const bucket = percent >= 100 ? null : bucketOf(id, userId)
      return { gate: 'sample', passed: bucket === null || bucket < threshold, compared: { bucket, threshold } }
    },
  }
}

/** Exact: in floating point 0.07 times 100 is more than 7. The workspace file's decimal point moves by two places. */
function timesHundred(percent: number): number {
  const [digits, exponent = '0'] = String(percent).split('e')
  return Number(`${digits}e${Number(exponent) + 2}`)
}

function bucketOf(formId: string, userId: string): number {
  return createHash('sha256').update(`${formId}:${userId}`).digest().readUInt32BE(0) % 10_000
}

/** This form's clock. What waits and what was delivered counts; cancelled and expired rows give it back. */
function repeat({ id, frequency: { repeat: rule } }: Form): Gate {
  const everyMs = typeof rule === 'object' && 'every' in rule ? durationMs(rule.every) : undefined
  const times = rule === 'once' ? 1 : typeof rule === 'object' && 'times' in rule ? rule.times : Infinity
  return {
    reason: everyMs === undefined ? 'repeat-exhausted' : 'too-soon',
    asks: [],
    check: ({ queue: { shown, open } }, now) => {
      const shownForm = shown.get(id)
      const timesQueued = (shownForm?.times ?? 0) + (open.has(id) ? 1 : 0)
      const lastShownAt = shownForm?.lastAt ?? null
      const passed = everyMs === undefined ? timesQueued < times : isSince(lastShownAt, everyMs, now)
      return { gate: 'repeat', passed, compared: { rule, timesQueued, lastShownAt } }
    },
  }
}

/** Any form's clock. Where there is no cooldown, nothing is looked up. */
function cooldown({ cooldown: { ignore } }: Form, { formCooldown }: ProjectConfig): Gate {
  const cooldownMs = ignore ? 0 : durationMs(formCooldown)
  return {
    reason: 'cooling-down',
    asks: [],
    check: ({ queue }, now) => {
      const lastShown = cooldownMs === 0 ? null : findLastShown(queue, now)
      const passed = lastShown === null || isSince(lastShown.at, cooldownMs, now)
      return { gate: 'cooldown', passed, compared: { cooldownSeconds: cooldownMs / 1_000, lastShown } }
    },
  }
}

type LastShown = Extract<GateOutcome, { gate: 'cooldown' }>['compared']['lastShown']

/** Which form was last shown to this user, and when; an open offer counts as shown. */
function findLastShown({ shown, open }: Queue, now: Moment): LastShown {
  let last: LastShown = null
  for (const [formId, { lastAt }] of shown) {
    if (!last || lastAt > last.at) last = { formId, at: lastAt, openOffer: false }
  }
  for (const row of open.values()) {
    if (row.offeredAt === null || stateAt(row, now.ms) !== 'offered') continue
    if (!last || row.offeredAt > last.at) last = { formId: row.formId, at: row.offeredAt, openOffer: true }
  }
  return last
}

function isSince(instant: string | null, atLeastMs: number, now: Moment): boolean {
  return instant === null || now.ms - Date.parse(instant) >= atLeastMs
}

/** One open row for each user and form. */
function slot({ id }: Form): Gate {
  return {
    reason: 'already-waiting',
    asks: [],
    check: ({ queue }) => {
      const row = queue.open.get(id)
      const waiting = row ? { state: row.state, queuedAt: row.queuedAt } : null
      return { gate: 'slot', passed: waiting === null, compared: { waiting } }
    },
  }
}

/** A date of the workspace file, which may have any offset, as answers show it. */
function utcOf(date: string | undefined): string | null {
  return date === undefined ? null : new Date(date).toISOString()
}
