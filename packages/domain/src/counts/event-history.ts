import { KEPT_OCCURRENCES } from '@nextvisit/contracts'

/** The kept history of one event of one user. All instants come from records, in ms since the epoch. */
export interface EventHistory {
  readonly total: number
  /** `occurredAt` of the kept occurrences, ascending (`keptOccurrences`). The last is the latest of all. */
  readonly latest: readonly number[]
  /** The earliest `occurredAt`. undefined: a projection that does not store it has loaded the history. */
  readonly firstAt?: number | undefined
  /** The number of SDK events of this slug in the session that began at `startedAt`. */
  readonly session?: { readonly startedAt: number; readonly count: number } | undefined
  /** The last occurrence that counted but triggered no form, because of its age or because it was imported. */
  readonly missed?: MissedOccurrence | undefined
}

/** Instants in ms since the epoch. */
export interface MissedOccurrence {
  readonly occurredAt: number
  readonly received: number
}

/** Maximum bytes of the stored history of one event of one user: two names, a slug, and up to 153 instants. */
export const MAX_EVENT_HISTORY_BYTES = 2_560

/**
 * Adds an occurrence. `received`: when its record was received. `isEvaluated`: it may trigger forms. `sessionStartedAt`:
 * the session that it counts for; undefined for an admin event and before the first visit.
 */
export function withOccurrence(
  history: EventHistory | undefined,
  { occurredAt, received, isEvaluated = true }: MissedOccurrence & { readonly isEvaluated?: boolean },
  sessionStartedAt: number | undefined,
): EventHistory {
  return {
    total: (history?.total ?? 0) + 1,
    firstAt: history ? earlier(history.firstAt, occurredAt) : occurredAt,
    latest: keptOccurrences(history?.latest ?? [], occurredAt, received),
    session:
      sessionStartedAt === undefined
        ? history?.session
        : { startedAt: sessionStartedAt, count: countOfSession(history, sessionStartedAt) + 1 },
    missed: isEvaluated ? history?.missed : { occurredAt, received },
  }
}

function earlier(firstAt: number | undefined, occurredAt: number): number | undefined {
  return firstAt === undefined ? undefined : Math.min(firstAt, occurredAt)
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

/**
 * Adds the time of an event and returns the times to keep, ascending, in ms since the epoch: of those up to `received` the
 * latest {@link KEPT_OCCURRENCES}, and those in the future, which callers' clocks allow. Of more than twice as many in the
 * future, the earliest {@link KEPT_OCCURRENCES}, which enter windows next, and as many of the latest, which triggers
 * count. A future time never displaces a past one.
 */
export function keptOccurrences(kept: readonly number[], occurredAt: number, received: number): readonly number[] {
  const times = [...kept]
  let place = times.length
  while (place > 0 && (times[place - 1] ?? 0) > occurredAt) place -= 1
  times.splice(place, 0, occurredAt)
  let happened = times.length
  while (happened > 0 && (times[happened - 1] ?? 0) > received) happened -= 1
  const tooMany = times.length - happened - 2 * KEPT_OCCURRENCES
  if (tooMany > 0) times.splice(happened + KEPT_OCCURRENCES, tooMany)
  return times.slice(Math.max(0, happened - KEPT_OCCURRENCES))
}
