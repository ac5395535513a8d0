import { durationMs, type EventTracked, type IdentifyRequested, type KeyKind, type Trigger } from '@nextvisit/contracts'
import { eventSlug } from '../event-slug.ts'
import { countedByTrigger, countKeyOf } from '../counts/count-key.ts'
import { compileWhere } from './gates/where.ts'
import { type Moment, momentOf } from '../time/moment.ts'
import type { EventProperties } from '../conditions/property-conditions.ts'
import type { User } from '../users/user.ts'
import { countOfSession, countWithin } from '../counts/event-history.ts'

/** The record that triggers are matched against, in addition to the user: a tracked event or a visit. */
export type TriggerContext = { readonly received: Moment } & (
  | {
      readonly event: {
        readonly slug: string
        readonly source: KeyKind
        /** ms since the epoch. */
        readonly occurredAt: number
        readonly properties?: EventProperties
      }
      readonly visit?: undefined
    }
  | { readonly visit: { readonly startsSession: boolean }; readonly event?: undefined }
)

export function eventContextOf({ slug, source, received, occurredAt, properties }: EventTracked): TriggerContext {
  return { received: momentOf(received), event: { slug, source, occurredAt: Date.parse(occurredAt), properties } }
}

/** Returns the context of a visit. `startsSession`: the result of `applyVisit` for it. */
export function visitContextOf({ received }: IdentifyRequested, startsSession: boolean): TriggerContext {
  return { received: momentOf(received), visit: { startsSession } }
}

/** A compiled trigger. It matches whenever its count is reached, this occurrence included, not only when it is first reached. */
export interface CompiledTrigger {
  /** The trigger in the workspace file. */
  readonly source: Trigger
  /** The tracked events that can set it off: events of one slug, every event, or none. */
  readonly events: { readonly slug: string } | 'every' | 'none'
  readonly onVisits: boolean
  /** Key of the count that it reads (`countKeyOf`). undefined: it counts nothing. */
  readonly countKey: string | undefined
  /** Returns its count at an instant (ms since the epoch). undefined: it counts nothing. */
  readonly countSoFar: ((user: Pick<User, 'events' | 'sessionStartedAt'>, atMs: number) => number) | undefined
  /** Returns whether it matches, apart from `where`. `user` is the state after the record. */
  readonly matches: (user: User, context: TriggerContext) => boolean
  /** Checks the event's properties. undefined: the trigger has no `where`. */
  readonly checkWhere: ReturnType<typeof compileWhere> | undefined
}

/** Compiles a trigger (forms.md, A form: triggers). */
export function compileTrigger(trigger: Trigger): CompiledTrigger {
  if ('visit' in trigger) {
    return {
      source: trigger,
      events: 'none',
      onVisits: true,
      countKey: undefined,
      countSoFar: undefined,
      matches: (_user, { visit }) => visit?.startsSession ?? false,
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
  return (user, { event, received }) => {
    if (event?.slug !== slug) return false
    if (since === 'session' && event.source === 'admin') return false
    return countSoFar(user, Math.max(received.ms, event.occurredAt)) >= count
  }
}

/** Compiles the count of a trigger. With both `within` and `since`, each must be reached, so the smaller count decides. */
function countsSoFar(countKey: string, { within, since }: EventTrigger): NonNullable<CompiledTrigger['countSoFar']> {
  const windowMs = within === undefined ? undefined : durationMs(within)
  return ({ events, sessionStartedAt }, atMs) => {
    const history = events.get(countKey)
    const inWindow = windowMs === undefined ? (history?.total ?? 0) : countWithin(history, atMs, windowMs)
    return since === 'session' ? Math.min(inWindow, countOfSession(history, sessionStartedAt)) : inWindow
  }
}
