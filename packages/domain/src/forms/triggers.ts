import {
  durationMs,
  type EventTracked,
  type GateOutcome,
  type IdentifyRequested,
  type KeyKind,
  type PropertyCondition,
  type Trigger,
} from '@nextvisit/contracts'
import { eventSlug } from '../event-slug.ts'
import { excerptOf } from './excerpt-of.ts'
import { type Moment, momentOf } from './moment.ts'
import { compilePropertyCondition, type Properties } from './property-conditions.ts'
import { countedByTrigger, countKeyOf } from './count-key.ts'
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

/** A trigger made ready. Levels, not edges: it matches whenever the count is reached, this occurrence included. */
export interface CompiledTrigger {
  /** As the workspace file has it. */
  readonly source: Trigger
  /** Which tracked events can set it off: those of one slug, every one, or none. */
  readonly events: { readonly slug: string } | 'every' | 'none'
  readonly onVisits: boolean
  /** What it counts, see `countKeyOf`; undefined: nothing. */
  readonly countKey: string | undefined
  /** Apart from `where`. `user` is the state after the record. */
  readonly matches: (user: UserState, context: TriggerContext) => boolean
  /** Whether the event's properties are as the trigger asks; undefined: it does not ask. */
  readonly checkWhere: ((context: TriggerContext) => GateOutcome) | undefined
}

/** (forms.md, A form: triggers) */
export function compileTrigger(trigger: Trigger): CompiledTrigger {
  if ('visit' in trigger) {
    return {
      source: trigger,
      events: 'none',
      onVisits: true,
      countKey: undefined,
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
      matches: ({ firstSeenAt }, { received }) => firstSeenAt !== undefined && received.ms - firstSeenAt >= afterMs,
      checkWhere: undefined,
    }
  }
  const slug = eventSlug(trigger.event)
  const countKey = countKeyOf(countedByTrigger(trigger))
  return {
    source: trigger,
    events: { slug },
    onVisits: false,
    countKey,
    matches: eventMatches(slug, countKey, trigger),
    checkWhere: trigger.where && whereGate(trigger.where),
  }
}

/** (forms.md, Gates) */
function whereGate(where: PropertyCondition): CompiledTrigger['checkWhere'] {
  const find = compilePropertyCondition(where)
  return (context) => {
    const properties = context.kind === 'event' ? context.properties : undefined
    const { holds, leaf, negated, actual } = find(properties, context.received.ms)
    return { gate: 'where', passed: holds, compared: { leaf, negated, actual: excerptOf(actual) } }
  }
}

/** With both `within` and `since`, each count must be reached. */
function eventMatches(
  slug: string,
  countKey: string,
  { count = 1, within, since }: Extract<Trigger, { event: string }>,
): CompiledTrigger['matches'] {
  const windowMs = within === undefined ? undefined : durationMs(within)
  return (user, context) => {
    if (context.kind !== 'event' || context.slug !== slug) return false
    const history = user.events.get(countKey)
    if (since === 'session') {
      if (context.source === 'admin' || countOfSession(history, user.sessionStartedAt) < count) return false
    }
    if (windowMs === undefined) return (history?.total ?? 0) >= count
    return countWithin(history, Math.max(context.received.ms, context.occurredAt), windowMs) >= count
  }
}
