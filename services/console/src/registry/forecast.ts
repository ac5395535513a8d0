import type { PlanLimit } from '@nextvisit/contracts'
import { boundsOfMonth } from '@nextvisit/domain'

/** Time at which a limit is reached at the current rate. */
export type Forecast =
  | { readonly outcome: 'unlimited' }
  | { readonly outcome: 'reached' }
  /** Nothing was added: the rate is zero. */
  | { readonly outcome: 'unused' }
  /** Too little of the month has passed for a rate. */
  | { readonly outcome: 'too-early' }
  | { readonly outcome: 'reached-on'; readonly atMs: number }
  /** The month ends first. `usedAtEnd`: count at its end. */
  | { readonly outcome: 'not-this-month'; readonly usedAtEnd: number }
  | { readonly outcome: 'not-within-a-year' }

export interface Use {
  readonly used: number
  /** null: unlimited. */
  readonly limit: number | null
  /** The count restarts every month. */
  readonly isMonthly: boolean
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const YEAR_MS = 365 * DAY_MS
/** Minimum time for a rate. */
const TOO_EARLY_MS = HOUR_MS
/** A rate over less time is rough, because days differ. */
const ROUGH_MS = 3 * DAY_MS

/** Forecasts at this month's rate: additions since its start, divided by the elapsed time. Months are in UTC. */
export function forecastOf(use: Use & { readonly added: number }, month: string, nowMs: number): Forecast {
  const elapsedMs = nowMs - boundsOfMonth(month).startMs
  if (elapsedMs < TOO_EARLY_MS) return settled(use) ?? { outcome: 'too-early' }
  return forecastAtRate(use, use.added / elapsedMs, month, nowMs)
}

/** Forecasts at a given rate. `perMs`: additions in a millisecond. */
export function forecastAtRate(use: Use, perMs: number, month: string, nowMs: number): Forecast {
  const { used, limit, isMonthly } = use
  const known = settled(use)
  if (known || limit === null) return known ?? { outcome: 'unlimited' }
  if (perMs <= 0) return { outcome: 'unused' }
  const leftMs = (limit - used) / perMs
  const monthLeftMs = boundsOfMonth(month).endMs - nowMs
  if (isMonthly && leftMs >= monthLeftMs)
    return { outcome: 'not-this-month', usedAtEnd: Math.floor(used + perMs * monthLeftMs) }
  if (leftMs > YEAR_MS) return { outcome: 'not-within-a-year' }
  return { outcome: 'reached-on', atMs: Math.ceil(nowMs + leftMs) }
}

/** Returns true while the rate of the month is rough. */
export function isRough(month: string, nowMs: number): boolean {
  return nowMs - boundsOfMonth(month).startMs < ROUGH_MS
}

/** Returns the forecasts that need no rate. */
function settled({ used, limit }: Use): Forecast | undefined {
  if (limit === null) return { outcome: 'unlimited' }
  return used >= limit ? { outcome: 'reached' } : undefined
}

/** Later times are given as days only. */
const SOON_MS = 2 * DAY_MS

/** Describes a forecast at this month's rate in a sentence. Days are in UTC, like months. */
export function forecastInWords(forecast: Forecast, limit: PlanLimit, month: string, nowMs: number): string {
  const { startMs, endMs } = boundsOfMonth(month)
  switch (forecast.outcome) {
    case 'unlimited':
      return 'The plan sets no limit.'
    case 'reached':
      return effectInWords(limit, dayInWords(endMs, nowMs))
    case 'unused':
      return 'Not reached at this rate: nothing was added this month.'
    case 'too-early':
      return `The month is ${spanInWords(nowMs - startMs)} old: too early to tell.`
    case 'reached-on':
      return `At this rate it will be reached on ${momentInWords(forecast.atMs, nowMs)}${limit.isMonthly ? beforeTheEnd(forecast.atMs, endMs) : ''}.`
    case 'not-this-month':
      return `Not this month: at this rate it will be about ${COUNT.format(forecast.usedAtEnd)} at the end of the month.`
    case 'not-within-a-year':
      return 'Not within a year at this rate.'
  }
}

/** Describes the rough rate of a young month. */
export function roughInWords(month: string, nowMs: number): string {
  return `This is a rough estimate: the month is ${spanInWords(nowMs - boundsOfMonth(month).startMs)} old.`
}

/** Describes the forecast at last month's rate; empty if it is unknown. */
export function atLastMonthsRateInWords(forecast: Forecast | undefined, nowMs: number): readonly string[] {
  if (forecast?.outcome === 'reached-on')
    return [`At last month's rate it will be reached on ${momentInWords(forecast.atMs, nowMs)}.`]
  return forecast?.outcome === 'not-this-month' ? ["At last month's rate it will not be reached this month."] : []
}

/** Describes the effect of a reached limit. `until`: end of the month. */
function effectInWords({ whenReached, isMonthly }: PlanLimit, until: string): string {
  const effect = `Reached: ${whenReached.effect}${isMonthly ? ` until ${until}` : ''}.`
  return 'stillPass' in whenReached ? `${effect} ${whenReached.stillPass}` : effect
}

/** Adds the time before the end of the month. */
function beforeTheEnd(atMs: number, endMs: number): string {
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

/** Formats a day as `27 November`, with the year unless it is the current one. */
function dayInWords(atMs: number, nowMs: number): string {
  const isThisYear = new Date(atMs).getUTCFullYear() === new Date(nowMs).getUTCFullYear()
  return (isThisYear ? DAY : DAY_OF_YEAR).format(atMs)
}

/** Formats a day, with the hour if it is soon. */
function momentInWords(atMs: number, nowMs: number): string {
  const day = dayInWords(atMs, nowMs)
  return atMs - nowMs < SOON_MS ? `${day} at about ${new Date(atMs).toISOString().slice(11, 13)}:00 UTC` : day
}

/** Formats a duration as `20 minutes`, `14 hours` or `2 days`. */
function spanInWords(ms: number): string {
  const [amount, unit] =
    ms < HOUR_MS ? [ms / 60_000, 'minute'] : ms < DAY_MS ? [ms / HOUR_MS, 'hour'] : [ms / DAY_MS, 'day']
  const whole = Math.floor(amount)
  return `${whole} ${unit}${whole === 1 ? '' : 's'}`
}
