const MINUTE_MS = 60_000
const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:Z|([+-])(\d\d):?(\d\d))$/
/** A negative year, or one of more than four digits, as Java and JavaScript write it: `+010000-01-01T00:00:00Z`. */
const FAR_YEAR = /^(?:(-)\d{4,10}|\+0{0,5}[1-9]\d{4,9})(-\d\d-\d\dT\S+)$/

/**
 * Parses an instant to ms since the epoch; ±Infinity for a year that is negative or has more than four digits. undefined:
 * another format, or a day that does not exist. `Date.parse` accepts too much.
 */
export function parseInstant(text: string): number | undefined {
  const match = DATE_TIME.exec(text)
  if (!match) return parseFarYear(text)
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0))
  const millisecond = Number((match[7] ?? '').slice(0, 3).padEnd(3, '0'))
  const offsetHour = Number(match[9] ?? 0)
  const offsetMinute = Number(match[10] ?? 0)
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) return undefined
  // Date.UTC reads the year 26 as 1926.
  const local = new Date(Date.UTC(2000, 0, 1, hour, minute, second, millisecond))
  local.setUTCFullYear(year, month - 1, day)
  // It reads 30 February as 2 March.
  if (local.getUTCMonth() !== month - 1 || local.getUTCDate() !== day) return undefined
  const sign = match[8] === '-' ? -1 : 1
  return local.getTime() - sign * (offsetHour * 60 + offsetMinute) * MINUTE_MS
}

function parseFarYear(text: string): number | undefined {
  const [, sign, rest] = FAR_YEAR.exec(text) ?? []
  // A leap year, in which every day exists.
  if (rest === undefined || parseInstant(`2000${rest}`) === undefined) return undefined
  return sign === '-' ? -Infinity : Infinity
}
