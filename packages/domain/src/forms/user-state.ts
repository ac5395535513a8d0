import { type DeviceFacts, KEPT_OCCURRENCES, type TraitValue } from '@nextvisit/contracts'
import { keptOccurrences } from './kept-occurrences.ts'
import type { Queue } from './queue.ts'

/** The kept history of one event of one user. All instants come from records, in ms since the epoch. */
export interface EventHistory {
  readonly total: number
  /** `occurredAt` of the kept occurrences, ascending (`keptOccurrences`). */
  readonly latest: readonly number[]
  /** The number of SDK events of this slug in the session that began at `startedAt`. */
  readonly session?: { readonly startedAt: number; readonly count: number } | undefined
}

/** The state of a user that the rules read, after every record that was answered before (forms.md, When a record is evaluated). */
export interface UserState {
  readonly userId: string
  readonly traits: ReadonlyMap<string, TraitValue>
  readonly device: DeviceFacts
  /** The instant of the first admitted identify. undefined: there was none, because events were admitted unchecked. */
  readonly firstSeenAt?: number | undefined
  readonly sessionStartedAt?: number | undefined
  readonly lastSdkContactAt?: number | undefined
  /** By count key (`countKeyOf`). */
  readonly events: ReadonlyMap<string, EventHistory>
  readonly queue: Queue
}

const SESSION_GAP_MS = 30 * 60_000

/** Returns whether a visit starts a session: the first ever, or 30 minutes or more after the last SDK contact (forms.md). */
export function startsSession(
  user: Pick<UserState, 'sessionStartedAt' | 'lastSdkContactAt'>,
  visitAt: number,
): boolean {
  if (user.sessionStartedAt === undefined || user.lastSdkContactAt === undefined) return true
  return visitAt - user.lastSdkContactAt >= SESSION_GAP_MS
}

/**
 * Adds an occurrence. `received`: when its record was received. `sessionStartedAt`: the session that it counts for;
 * undefined for an admin event and before the first visit.
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

/** Counts the occurrences in (instant − windowMs, instant]. Exact up to 50; 51 means 51 or more. */
export function countWithin(history: EventHistory | undefined, instant: number, windowMs: number): number {
  if (!history) return 0
  // Backwards and without a second array: most of the cost of an evaluation is here.
  let count = 0
  for (let place = history.latest.length - 1; place >= 0 && count < KEPT_OCCURRENCES; place -= 1) {
    const at = history.latest[place] ?? 0
    if (at <= instant - windowMs) break
    if (at <= instant) count += 1
  }
  return count
}

/** Counts the occurrences in the session that began at `sessionStartedAt`. */
export function countOfSession(history: EventHistory | undefined, sessionStartedAt: number | undefined): number {
  if (sessionStartedAt === undefined || history?.session?.startedAt !== sessionStartedAt) return 0
  return history.session.count
}
