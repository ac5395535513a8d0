import { boundsOfMonth } from '@nextvisit/domain'
import type { LimitName } from './api.ts'
import type { Forecast } from './forecast.ts'

/** What happens to whoever needs more. `until` a month ends; names stay. */
const WHEN_REACHED: { readonly [Name in LimitName]: (until: string) => string } = {
  eventsPerMonth: (until) => `Reached: events with a production key are refused (402) until ${until}.`,
  monthlyActiveUsers: (until) =>
    `Reached: users who are not counted this month yet are refused (400) until ${until}. The others pass.`,
  uniqueEvents: () => 'Reached: events with a new name are refused (400). Known names pass.',
  uniqueTraits: () => 'Reached: new traits are left out of what is recorded. Known ones pass.',
}

const DAY_MS = 86_400_000
/** A day says enough about what is further away. */
const SOON_MS = 2 * DAY_MS

/** When the limit is reached at this month's rate, as a sentence. Days are those of UTC, as the month is. */
export function forecastInWords(forecast: Forecast, name: LimitName, month: string, nowMs: number): string {
  const { startMs, endMs } = boundsOfMonth(month)
  switch (forecast.outcome) {
    case 'unlimited':
      return 'The plan sets no limit.'
    case 'reached':
      return WHEN_REACHED[name](dayInWords(endMs, nowMs))
    case 'unused':
      return 'Not reached at this rate: nothing was added this month.'
    case 'too-early':
      return `The month is ${spanInWords(nowMs - startMs)} old: too early to tell.`
    case 'reached-on':
      return `At this rate it is reached on ${momentInWords(forecast.atMs, nowMs)}${beforeTheEnd(name, forecast.atMs, endMs)}.`
    case 'not-this-month':
      return `Not this month: at this rate it comes to about ${COUNT.format(forecast.usedAtEnd)} when the month ends.`
    case 'not-within-a-year':
      return 'Not within a year at this rate.'
  }
}

/** While the month is young: that its rate is rough. */
export function roughInWords(month: string, nowMs: number): string {
  return `This is rough: the month is ${spanInWords(nowMs - boundsOfMonth(month).startMs)} old.`
}

/** The forecast at another rate beside; nothing where that rate is not known. */
export function atLastMonthsRateInWords(forecast: Forecast | undefined, nowMs: number): readonly string[] {
  if (forecast?.outcome === 'reached-on')
    return [`At last month's rate it is reached on ${momentInWords(forecast.atMs, nowMs)}.`]
  return forecast?.outcome === 'not-this-month' ? ["At last month's rate it is not reached this month."] : []
}

/** Of counts that begin again with the month. */
function beforeTheEnd(name: LimitName, atMs: number, endMs: number): string {
  if (name === 'uniqueEvents' || name === 'uniqueTraits') return ''
  const days = Math.floor((endMs - atMs) / DAY_MS)
  if (days === 0) return ', the last day of the month'
  return `, ${days === 1 ? '1 day' : `${days} days`} before the month ends`
}

const DAY = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'long' })
const DAY_OF_YEAR = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
})
const COUNT = new Intl.NumberFormat('en')

/** `27 November`; with the year where it is another. */
function dayInWords(atMs: number, nowMs: number): string {
  const isThisYear = new Date(atMs).getUTCFullYear() === new Date(nowMs).getUTCFullYear()
  return (isThisYear ? DAY : DAY_OF_YEAR).format(atMs)
}

/** With the hour where it is soon. */
function momentInWords(atMs: number, nowMs: number): string {
  const day = dayInWords(atMs, nowMs)
  return atMs - nowMs < SOON_MS ? `${day} at about ${new Date(atMs).toISOString().slice(11, 13)}:00 UTC` : day
}

/** `20 minutes`, `14 hours`, `2 days`. */
function spanInWords(ms: number): string {
  const [amount, unit] =
    ms < 3_600_000 ? [ms / 60_000, 'minute'] : ms < DAY_MS ? [ms / 3_600_000, 'hour'] : [ms / DAY_MS, 'day']
  const whole = Math.floor(amount)
  return `${whole} ${unit}${whole === 1 ? '' : 's'}`
}
