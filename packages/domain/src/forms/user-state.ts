import { type DeviceFacts, KEPT_OCCURRENCES, type TraitValue } from '@nextvisit/contracts'
import { keptOccurrences } from './kept-occurrences.ts'
import type { Queue } from './queue.ts'

/** What is known of a user's activity. All instants come from records, never from a clock: here ms since the epoch. */

/** What is kept of one event of one user. */
export interface EventHistory {
  readonly total: number
  /** `occurredAt` of those that are kept, ascending: see `keptOccurrences`. */
  readonly latest: readonly number[]
  /** SDK track events of this slug in the session that began at `startedAt`. */
  readonly session?: { readonly startedAt: number; readonly count: number } | undefined
}

/** What the rules know of a user, after everything that was answered before (forms.md, When a record is evaluated). */
export interface UserState {
  readonly userId: string
  readonly traits: ReadonlyMap<string, TraitValue>
  readonly device: DeviceFacts
  /** The first admitted identify; absent for a user whose events came through unchecked. */
  readonly firstSeenAt?: number | undefined
  readonly sessionStartedAt?: number | undefined
  readonly lastSdkContactAt?: number | undefined
  /** By what is counted: see `countKeyOf`. */
  readonly events: ReadonlyMap<string, EventHistory>
  readonly queue: Queue
}

const SESSION_GAP_MS = 30 * 60_000

/** The first visit ever, and one 30 minutes or more after the last SDK contact, starts a session (forms.md). */
export function startsSession(
  user: Pick<UserState, 'sessionStartedAt' | 'lastSdkContactAt'>,
  visitAt: number,
): boolean {
  if (user.sessionStartedAt === undefined || user.lastSdkContactAt === undefined) return true
  return visitAt - user.lastSdkContactAt >= SESSION_GAP_MS
}

/**
 * One more occurrence. `received`: when its record was. `sessionStartedAt`: the session it counts for; absent for an admin track event, and before the
 * first visit.
 */
export function withOccurrence(
  history: EventHistory | undefined,
  { occurredAt, received }: { readonly occurredAt: number; readonly received: number },
  sessionStartedAt: number | undefined,
): EventHistory {
  return {
    total: (history?.total ?? 0) + 1,
    latest: keptOccurrences(history?.latest ?? [], occurredAt, received),
    session:
      sessionStartedAt === undefined
        ? history?.session
        : { startedAt: sessionStartedAt, count: countOfSession(history, sessionStartedAt) + 1 },
  }
}

/** How often it happened within `windowMs` at `instant`: in (instant − windowMs, instant]. Exact up to 50; 51 stands for all more. */
export function countWithin(history: EventHistory | undefined, instant: number, windowMs: number): number {
  if (!history) return 0
  // From the latest back, without a second array: most of the cost of an evaluation is here.
  let count = 0
  for (let place = history.latest.length - 1; place >= 0 && count < KEPT_OCCURRENCES; place -= 1) {
    const at = history.latest[place] ?? 0
    if (at <= instant - windowMs) break
    if (at <= instant) count += 1
  }
  return count
}

/** How often it happened in the session that began at `sessionStartedAt`. */
export function countOfSession(history: EventHistory | undefined, sessionStartedAt: number | undefined): number {
  if (sessionStartedAt === undefined || history?.session?.startedAt !== sessionStartedAt) return 0
  return history.session.count
}
