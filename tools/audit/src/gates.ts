import { createHash } from 'node:crypto'
import type { ProjectOfRevision } from './catalog.ts'
import { holds } from './condition.ts'
import type { FormRule } from './form-rules.ts'
import type { ActivityThen } from './triggers.ts'

/** A user's queue at a record, as the gates need it. */
export interface QueueThen {
  /** By form: how many rows were delivered, and when the last one was (ms). */
  readonly shown: ReadonlyMap<string, { readonly times: number; readonly lastMs: number }>
  /** Forms with an open row. */
  readonly open: ReadonlySet<string>
  /** When an offer was made that may still be confirmed (ms). */
  readonly offeredMs?: number | undefined
}

export interface Candidate {
  readonly form: FormRule
  readonly project: ProjectOfRevision
  readonly userId: string
  /** When the record was received (ms). */
  readonly now: number
  readonly activity: ActivityThen
}

type Gate = (candidate: Candidate, queue: QueueThen) => string | undefined

/** Each returns its reason where it refuses (docs/spec/forms.md, Gates). */
const GATES: readonly Gate[] = [
  ({ form, now }) => (form.isEnabled && now >= form.startsAt && now < form.endsAt ? undefined : 'not-live'),
  ({ form, project, now, activity }) => {
    const country = activity.device.get('$countryCode') ?? null
    const eventOf = (slug: string) => {
      const event = activity.eventOf(slug)
      return event && { count: event.total, latest: event.latest }
    }
    const moment = { ...activity, at: now, country, eventOf, segments: project.segments }
    return holds(form.audience, moment) ? undefined : 'not-in-audience'
  },
  ({ form, userId }) => (isDrawn(form, userId) ? undefined : 'sampled-out'),
  ({ form, now }, { shown, open }) => {
    const { times = 0, lastMs = -Infinity } = shown.get(form.id) ?? {}
    if (times + (open.has(form.id) ? 1 : 0) >= form.times) return 'repeat-exhausted'
    return form.everyMs !== undefined && now - lastMs < form.everyMs ? 'too-soon' : undefined
  },
  ({ form, project, now }, { shown, offeredMs = -Infinity }) => {
    if (form.ignoresCooldown || project.cooldownMs === 0) return undefined
    const lastMs = [...shown.values()].reduce((last, one) => Math.max(last, one.lastMs), offeredMs)
    return now - lastMs < project.cooldownMs ? 'cooling-down' : undefined
  },
  ({ form }, { open }) => (open.has(form.id) ? 'already-waiting' : undefined),
]

/** The reason of the first gate that refuses. Undefined: none does. */
export function refusalOf(candidate: Candidate, queue: QueueThen): string | undefined {
  for (const gate of GATES) {
    const reason = gate(candidate, queue)
    if (reason !== undefined) return reason
  }
  return undefined
}

function isDrawn({ id, sample }: FormRule, userId: string): boolean {
  return createHash('sha256').update(`${id}:${userId}`).digest().readUInt32BE() % 10_000 < sample * 100
}
