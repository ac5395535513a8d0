import {
  type AnswerGiven,
  type Answers,
  durationMs,
  type EventTracked,
  type GateOutcome,
  type GateReason,
  type IdentifyRequested,
  type KeyKind,
  type Trigger,
} from '@nextvisit/contracts'
import { eventSlug } from '../event-slug.ts'
import { countedByTrigger, countKeyOf } from '../counts/count-key.ts'
import { compileAnswered, compileWhere } from './gates/where.ts'
import { type Moment, momentOf } from '../time/moment.ts'
import type { EventProperties } from '../conditions/property-conditions.ts'
import type { User } from '../users/user.ts'
import { countOfSession, countWithin } from '../counts/event-history.ts'

/** The record that triggers are matched against, in addition to the user: a tracked event, a visit or a finished form. */
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
      readonly answered?: undefined
    }
  | { readonly visit: { readonly startsSession: boolean }; readonly event?: undefined; readonly answered?: undefined }
  | {
      readonly answered: { readonly formId: string; readonly answers: Answers }
      readonly event?: undefined
      readonly visit?: undefined
    }
)

export function eventContextOf({ slug, source, received, occurredAt, properties }: EventTracked): TriggerContext {
  return { received: momentOf(received), event: { slug, source, occurredAt: Date.parse(occurredAt), properties } }
}

/** Returns the context of a visit. `startsSession`: the result of `applyVisit` for it. */
export function visitContextOf({ received }: IdentifyRequested, startsSession: boolean): TriggerContext {
  return { received: momentOf(received), visit: { startsSession } }
}

/** Returns the context of an answer that has finished a form of the user. */
export function answeredContextOf({ received, formId, answers }: AnswerGiven): TriggerContext {
  return { received: momentOf(received), answered: { formId, answers } }
}

/** A compiled trigger. It matches whenever its count is reached, this occurrence included, not only when it is first reached. */
export interface CompiledTrigger {
  /** The trigger in the workspace file. */
  readonly source: Trigger
  /** The tracked events that can set it off: events of one slug, every event, or none. */
  readonly events: { readonly slug: string } | 'every' | 'none'
  readonly onVisits: boolean
  /** The form whose answers can set it off. undefined: none. */
  readonly onAnswersTo?: string
  /** Key of the count that it reads (`countKeyOf`). undefined: it counts nothing. */
  readonly countKey: string | undefined
  /** Returns its count at an instant (ms since the epoch). undefined: it counts nothing. */
  readonly countSoFar: ((user: Pick<User, 'events' | 'sessionStartedAt'>, atMs: number) => number) | undefined
  /** Returns whether it matches, apart from `where`. `user` is the state after the record. */
  readonly matches: (user: User, context: TriggerContext) => boolean
  /** Checks the event's properties, or the answers. undefined: the trigger has no `where`. */
  readonly checkWhere: ((context: TriggerContext) => GateOutcome) | undefined
  /** The reason to record if `checkWhere` fails. */
  readonly whereReason: GateReason
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
      ...WITHOUT_WHERE,
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
      ...WITHOUT_WHERE,
    }
  }
  if ('answered' in trigger) return compileAnsweredTrigger(trigger)
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
    ...compileEventWhere(trigger),
  }
}

type Where = Pick<CompiledTrigger, 'checkWhere' | 'whereReason'>
const WITHOUT_WHERE: Where = { checkWhere: undefined, whereReason: 'properties-differ' }

function compileEventWhere({ where }: EventTrigger): Where {
  if (!where) return WITHOUT_WHERE
  const check = compileWhere(where)
  return { ...WITHOUT_WHERE, checkWhere: ({ event, received }) => check(event?.properties, received) }
}

function compileAnsweredTrigger(trigger: Extract<Trigger, { answered: unknown }>): CompiledTrigger {
  const { form, where } = trigger.answered
  const check = where && compileAnswered(where)
  return {
    source: trigger,
    events: 'none',
    onVisits: false,
    onAnswersTo: form,
    countKey: undefined,
    countSoFar: undefined,
    matches: (_user, { answered }) => answered?.formId === form,
    checkWhere: check && (({ answered, received }) => check(answered?.answers ?? {}, received)),
    whereReason: 'answers-differ',
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
