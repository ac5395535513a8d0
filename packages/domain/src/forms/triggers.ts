import { durationMs, type EventTracked, type IdentifyRequested, type KeyKind, type Trigger } from '@nextvisit/contracts'
import { eventSlug } from '../event-slug.ts'
import { countedByTrigger, countKeyOf } from './count-key.ts'
import { type CheckWhere, compileWhere } from './gates/where.ts'
import { type Moment, momentOf } from './moment.ts'
import type { Properties } from './property-conditions.ts'
import { countOfSession, countWithin, type UserState } from './user-state.ts'

/** What triggers look at beside the user: the record that is evaluated, a tracked event or a visit. */
export type TriggerContext = { readonly received: Moment } & (
  | {
      readonly kind: 'event'
      readonly slug: string
      readonly source: KeyKind
      /** Ms since the epoch. */
      readonly occurredAt: number
      readonly properties?: Properties
    }
  | { readonly kind: 'visit'; readonly startsSession: boolean }
)

export function eventContextOf({ slug, source, received, occurredAt, properties }: EventTracked): TriggerContext {
  return { kind: 'event', slug, source, received: momentOf(received), occurredAt: Date.parse(occurredAt), properties }
}

/** `startsSession`: as `foldIdentify` says of this visit. */
export function visitContextOf({ received }: IdentifyRequested, startsSession: boolean): TriggerContext {
  return { kind: 'visit', startsSession, received: momentOf(received) }
}

/** What triggers count by. */
export type CountedActivity = Pick<UserState, 'events' | 'sessionStartedAt'>

/** A trigger made ready. Levels, not edges: it matches whenever the count is reached, this occurrence included. */
export interface CompiledTrigger {
  /** As the workspace file has it. */
  readonly source: Trigger
  /** Which tracked events can set it off: those of one slug, every one, or none. */
  readonly events: { readonly slug: string } | 'every' | 'none'
  readonly onVisits: boolean
  /** What it counts, see `countKeyOf`; undefined: nothing. */
  readonly countKey: string | undefined
  /** How often what it counts has happened, as an event at this instant would find it, ms since the epoch; undefined: it counts nothing. */
  readonly countSoFar: ((user: CountedActivity, atMs: number) => number) | undefined
  /** Apart from `where`. `user` is the state after the record. */
  readonly matches: (user: UserState, context: TriggerContext) => boolean
  /** Whether the event's properties are as the trigger asks; undefined: it does not ask. */
  readonly checkWhere: CheckWhere | undefined
}

/** (forms.md, A form: triggers) */
export function compileTrigger(trigger: Trigger): CompiledTrigger {
  if ('visit' in trigger) {
    return {
      source: trigger,
      events: 'none',
      onVisits: true,
      countKey: undefined,
      countSoFar: undefined,
      matches: (_user, context) => context.kind === 'visit' && context.startsSession,
      checkWhere: undefined,
    }
  }
  if ('firstSeen' in trigger) {
    const afterMs = durationMs(trigger.firstSeen.after)
    return {
      source: trigger,
      events: 'every',
      onVisits: true,
      countKey: undefined,
      countSoFar: undefined,
      matches: ({ firstSeenAt }, { received }) => firstSeenAt !== undefined && received.ms - firstSeenAt >= afterMs,
      checkWhere: undefined,
    }
  }
  const slug = eventSlug(trigger.event)
  const countKey = countKeyOf(countedByTrigger(trigger))
  const countSoFar = countsSoFar(countKey, trigger)
  return {
    source: trigger,
    events: { slug },
    onVisits: false,
    countKey,
    countSoFar,
    matches: eventMatches(slug, countSoFar, trigger),
    checkWhere: trigger.where && compileWhere(trigger.where),
  }
}

type EventTrigger = Extract<Trigger, { event: string }>

function eventMatches(
  slug: string,
  countSoFar: NonNullable<CompiledTrigger['countSoFar']>,
  { count = 1, since }: EventTrigger,
): CompiledTrigger['matches'] {
  return (user, context) => {
    if (context.kind !== 'event' || context.slug !== slug) return false
    if (since === 'session' && context.source === 'admin') return false
    return countSoFar(user, Math.max(context.received.ms, context.occurredAt)) >= count
  }
}

/** With both `within` and `since`, each count must be reached: the smaller one tells. */
function countsSoFar(countKey: string, { within, since }: EventTrigger): NonNullable<CompiledTrigger['countSoFar']> {
  const windowMs = within === undefined ? undefined : durationMs(within)
  return ({ events, sessionStartedAt }, atMs) => {
    const history = events.get(countKey)
    const inWindow = windowMs === undefined ? (history?.total ?? 0) : countWithin(history, atMs, windowMs)
    return since === 'session' ? Math.min(inWindow, countOfSession(history, sessionStartedAt)) : inWindow
  }
}
