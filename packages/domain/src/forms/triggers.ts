import { durationMs, type KeyKind, type Trigger } from '@nextvisit/contracts'
import { eventSlug } from '../event-slug.ts'
import { countOfSession, countWithin, type UserState } from './user-state.ts'

/** What is evaluated: a tracked event, or a visit. Instants in ms. */
export type Occasion =
  | {
      readonly kind: 'event'
      readonly slug: string
      readonly source: KeyKind
      readonly receivedAt: number
      readonly occurredAt: number
    }
  | { readonly kind: 'visit'; readonly startsSession: boolean; readonly receivedAt: number }

/** A trigger made ready. Levels, not edges: it matches whenever the count is reached, this occurrence included. */
export interface CompiledTrigger {
  /** As the workspace file has it. */
  readonly source: Trigger
  /** Which tracked events can set it off: those of one slug, every one, or none. */
  readonly events: { readonly slug: string } | 'every' | 'none'
  readonly onVisits: boolean
  /** `user` is the state after the record. */
  readonly matches: (user: UserState, occasion: Occasion) => boolean
}

/** (forms.md, A form: triggers) */
export function compileTrigger(trigger: Trigger): CompiledTrigger {
  if ('visit' in trigger) {
    return {
      source: trigger,
      events: 'none',
      onVisits: true,
      matches: (_user, occasion) => occasion.kind === 'visit' && occasion.startsSession,
    }
  }
  if ('firstSeen' in trigger) {
    const afterMs = durationMs(trigger.firstSeen.after)
    return {
      source: trigger,
      events: 'every',
      onVisits: true,
      matches: ({ firstSeenAt }, { receivedAt }) => firstSeenAt !== undefined && receivedAt - firstSeenAt >= afterMs,
    }
  }
  const slug = eventSlug(trigger.event)
  return { source: trigger, events: { slug }, onVisits: false, matches: eventMatches(slug, trigger) }
}

/** With both `within` and `since`, each count must be reached. */
function eventMatches(
  slug: string,
  { count = 1, within, since }: Extract<Trigger, { event: string }>,
): CompiledTrigger['matches'] {
  const windowMs = within === undefined ? undefined : durationMs(within)
  return (user, occasion) => {
    if (occasion.kind !== 'event' || occasion.slug !== slug) return false
    const history = user.events.get(slug)
    if (since === 'session') {
      if (occasion.source === 'admin' || countOfSession(history, user.sessionStartedAt) < count) return false
    }
    if (windowMs === undefined) return (history?.total ?? 0) >= count
    return countWithin(history, Math.max(occasion.receivedAt, occasion.occurredAt), windowMs) >= count
  }
}
