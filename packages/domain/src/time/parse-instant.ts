const MINUTE_MS = 60_000
const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:Z|([+-])(\d\d):?(\d\d))$/

/** Parses an instant to ms since the epoch. undefined: another format, or a day that does not exist. `Date.parse` accepts too much. */
export function parseInstant(text: string): number | undefined {
  const match = DATE_TIME.exec(text)
  if (!match) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0))
  const millisecond = Number((match[7] ?? '').slice(0, 3).padEnd(3, '0'))
  const offsetHour = Number(match[9] ?? 0)
  const offsetMinute = Number(match[10] ?? 0)
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) return undefined
  const localMs = Date.UTC(year, month - 1, day, hour, minute, second, millisecond)
  const local = new Date(localMs)
  // Date.UTC reads 30 February as 2 March, and the year 26 as 1926.
  if (local.getUTCFullYear() !== year || local.getUTCMonth() !== month - 1 || local.getUTCDate() !== day)
    return undefined
  const sign = match[8] === '-' ? -1 : 1
  return localMs - sign * (offsetHour * 60 + offsetMinute) * MINUTE_MS
}
