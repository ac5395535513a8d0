import { memoize } from '../memoize.ts'

const QUARTER_MS = 15 * 60_000
const DAY_MS = 24 * 60 * 60_000
const MAX_KNOWN_OFFSETS = 100_000
/** A Date, with a day more, still represents any such time. */
const MAX_LOCAL_MS = 8.64e15 - 2 * DAY_MS

/** Cached by quarter of an hour, because zones change their offset only at a quarter. */
const offsetMsOf = memoize(MAX_KNOWN_OFFSETS, (key) => {
  const [quarter = '', timeZone = ''] = key.split(' ')
  const atMs = Number(quarter) * QUARTER_MS
  const format = formatOf(timeZone)
  const parts = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute) - atMs
})

const formatOf = memoize(
  10,
  (timeZone) =>
    new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'gregory',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
    }),
)

/**
 * Converts a time of day in a zone, written as ms since the epoch as if it were UTC, to the instant in ms. Of the hour that
 * comes twice in autumn, the first is meant. NaN: a Date cannot represent the instant.
 */
export function instantOfLocal(localMs: number, timeZone: string): number {
  if (!(Math.abs(localMs) <= MAX_LOCAL_MS)) return Number.NaN
  if (timeZone === 'UTC') return localMs
  const offsetAt = (ms: number) => offsetMsOf(`${Math.floor(ms / QUARTER_MS)} ${timeZone}`)
  const [before, after] = [offsetAt(localMs - DAY_MS), offsetAt(localMs + DAY_MS)]
  const first = localMs - before
  return before === after || offsetAt(first) === before ? first : localMs - after
}
