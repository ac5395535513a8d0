import { createHash } from 'node:crypto'
import type { ProjectOfRevision } from './catalog.ts'
import { decide, type Moment } from './condition.ts'
import type { FormRule } from './form-rules.ts'
import { finishedAtOf } from './kept-answers.ts'
import type { ActivityThen } from './triggers.ts'

/** A user's queue at a record, as input of the gates. Instants are ISO text. */
export interface QueueThen {
  /** Number of deliveries and the last one, by form. */
  readonly shown: ReadonlyMap<string, { readonly times: number; readonly lastAt: string }>
  /** Open rows by form. */
  readonly open: ReadonlyMap<string, { readonly state: 'waiting' | 'offered'; readonly queuedAt: string }>
  /** Latest offer that may still be confirmed. */
  readonly offered?: { readonly formId: string; readonly at: string } | undefined
}

interface Candidate {
  readonly form: FormRule
  readonly project: ProjectOfRevision
  readonly userId: string
  /** Time when the record was received (ms). */
  readonly now: number
  readonly activity: ActivityThen
}

/** Verdict of a gate: the reason if it refuses, and the compared values (contracts, form-decisions.ts). */
interface Verdict {
  readonly reason?: string | undefined
  readonly compared: object
}

type Gate = (candidate: Candidate, queue: QueueThen) => Verdict

/** All gates (forms.md, Gates). */
const GATES = {
  live: ({ form: { isEnabled, startsAt, endsAt }, now }) => ({
    reason: isEnabled && now >= startsAt && now < endsAt ? undefined : 'not-live',
    compared: { enabled: isEnabled, startsAt: isoOf(startsAt), endsAt: isoOf(endsAt), now: isoOf(now) },
  }),
  audience: ({ form, project, now, activity }) => {
    const { holds, ...compared } = decide(form.audience, momentOf(activity, project, now))
    return { reason: holds ? undefined : 'not-in-audience', compared }
  },
  sample: ({ form: { id, sample }, userId }) => {
    const [bucket, threshold] = [sample >= 100 ? null : bucketOf(id, userId), thresholdOf(sample)]
    return { reason: (bucket ?? -1) < threshold ? undefined : 'sampled-out', compared: { bucket, threshold } }
  },
  repeat: ({ form: { id, times, everyMs, repeat: rule, isUntilAnswered }, now, activity }, { shown, open }) => {
    const { times: timesShown = 0, lastAt: lastShownAt = null } = shown.get(id) ?? {}
    const timesQueued = timesShown + (open.has(id) ? 1 : 0)
    if (isUntilAnswered) {
      const finishedAt = finishedAtOf(activity.answers.get(id))
      const compared = { rule: { until: 'answered' }, timesQueued, lastShownAt, finishedAt }
      return { reason: finishedAt === null ? undefined : 'answered', compared }
    }
    const isTooSoon = everyMs !== undefined && isWithin(everyMs, lastShownAt, now)
    const reason = timesQueued >= times ? 'repeat-exhausted' : isTooSoon ? 'too-soon' : undefined
    return { reason, compared: { rule, timesQueued, lastShownAt } }
  },
  cooldown: ({ form, project, now }, queue) => {
    const cooldownMs = form.ignoresCooldown ? 0 : project.cooldownMs
    const lastShown = cooldownMs === 0 ? null : lastShownOf(queue)
    return {
      reason: isWithin(cooldownMs, lastShown?.at ?? null, now) ? 'cooling-down' : undefined,
      compared: { cooldownSeconds: cooldownMs / 1_000, lastShown },
    }
  },
  slot: ({ form }, { open }) => {
    const waiting = open.get(form.id) ?? null
    return { reason: waiting ? 'already-waiting' : undefined, compared: { waiting } }
  },
} satisfies Record<string, Gate>

export type GateName = keyof typeof GATES

/** Gates before a form is queued, in order. */
export const TO_QUEUE: readonly GateName[] = ['live', 'audience', 'sample', 'repeat', 'cooldown', 'slot']
/** Gates that are checked again when a visit takes the form from the queue. */
export const AT_VISIT: readonly GateName[] = ['live', 'audience', 'cooldown']

/** Returns the gates that a visit checks again for a form. */
export function gatesAtVisit({ isUntilAnswered }: FormRule): readonly GateName[] {
  return isUntilAnswered ? ['live', 'audience', 'repeat', 'cooldown'] : AT_VISIT
}

/** Verdicts of the gates, up to the first that refuses. */
export interface GatesThen {
  /** Reason of the refusing gate; undefined: none refuses. */
  readonly reason: string | undefined
  readonly gates: readonly { readonly gate: GateName | 'where'; readonly passed: boolean; readonly compared: object }[]
}

export function checkGates(names: readonly GateName[], candidate: Candidate, queue: QueueThen): GatesThen {
  const gates: GatesThen['gates'][number][] = []
  for (const gate of names) {
    const { reason, compared } = GATES[gate](candidate, queue)
    gates.push({ gate, passed: reason === undefined, compared })
    if (reason !== undefined) return { reason, gates }
  }
  return { reason: undefined, gates }
}

function momentOf(activity: ActivityThen, { segments }: ProjectOfRevision, at: number): Moment {
  const eventOf = (slug: string) => {
    const event = activity.eventOf(slug)
    return event && { count: event.total, latest: event.latest }
  }
  return { ...activity, at, country: activity.device.get('$countryCode') ?? null, eventOf, segments }
}

/** Returns the form that was shown last. An open offer counts as shown. */
function lastShownOf({ shown, offered }: QueueThen) {
  const all = [
    ...[...shown].map(([formId, { lastAt: at }]) => ({ formId, at, openOffer: false })),
    ...(offered ? [{ ...offered, openOffer: true }] : []),
  ]
  return all.reduce<(typeof all)[number] | null>((last, one) => (last && last.at >= one.at ? last : one), null)
}

function isWithin(ms: number, instant: string | null, now: number): boolean {
  return instant !== null && now - Date.parse(instant) < ms
}

/** Returns the threshold of a sample from its decimal notation: 0.07 is 7, although 0.07 × 100 is slightly more. */
function thresholdOf(sample: number): number {
  const [decimal, power = 0] = `${sample}`.split('e')
  return Number(`${decimal}e${2 + Number(power)}`)
}

function bucketOf(formId: string, userId: string): number {
  return createHash('sha256').update(`${formId}:${userId}`).digest().readUInt32BE() % 10_000
}

function isoOf(ms: number): string | null {
  return Number.isFinite(ms) ? new Date(ms).toISOString() : null
}
