import { KEPT_OCCURRENCES } from '@nextvisit/contracts'

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
