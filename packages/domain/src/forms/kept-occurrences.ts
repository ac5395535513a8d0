import { KEPT_OCCURRENCES } from '@nextvisit/contracts'

/**
 * Which times of an event are kept once one more arrives: of those that have happened when it is received, the latest
 * {@link KEPT_OCCURRENCES}; and those ahead of that, which callers' clocks allow. Of more than twice as many ahead, the
 * earliest and the latest {@link KEPT_OCCURRENCES}: the earliest enter windows next, the latest are what a trigger counts.
 * A time ahead never displaces one that has happened. `kept`: ascending. All in ms since the epoch.
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
