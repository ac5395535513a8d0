import { boundsOfMonth } from '@nextvisit/domain'

/** When a limit is reached if its use goes on as it did. */
export type Forecast =
  | { readonly outcome: 'unlimited' }
  | { readonly outcome: 'reached' }
  /** Nothing was added, so there is no rate. */
  | { readonly outcome: 'unused' }
  /** The month is too young for a rate. */
  | { readonly outcome: 'too-early' }
  | { readonly outcome: 'reached-on'; readonly atMs: number }
  /** The count begins again before that. `usedAtEnd`: what it comes to. */
  | { readonly outcome: 'not-this-month'; readonly usedAtEnd: number }
  | { readonly outcome: 'not-within-a-year' }

export interface Use {
  readonly used: number
  /** null: there is none. */
  readonly limit: number | null
  /** Whether the count begins again with each month. */
  readonly isMonthly: boolean
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const YEAR_MS = 365 * DAY_MS
/** A rate of less time says nothing. */
const TOO_EARLY_MS = HOUR_MS
/** A rate of less time is rough: a day is not like the next. */
const ROUGH_MS = 3 * DAY_MS

/** By this month's rate: what was added since it began, over the time that has passed. The month is the UTC one. */
export function forecastOf(use: Use & { readonly added: number }, month: string, nowMs: number): Forecast {
  const elapsedMs = nowMs - boundsOfMonth(month).startMs
  if (elapsedMs < TOO_EARLY_MS) return settled(use) ?? { outcome: 'too-early' }
  return forecastAtRate(use, use.added / elapsedMs, month, nowMs)
}

/** `perMs`: what is added in a millisecond. */
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

/** Whether so little of the month has passed that its rate is rough. */
export function isRough(month: string, nowMs: number): boolean {
  return nowMs - boundsOfMonth(month).startMs < ROUGH_MS
}

/** What needs no rate. */
function settled({ used, limit }: Use): Forecast | undefined {
  if (limit === null) return { outcome: 'unlimited' }
  return used >= limit ? { outcome: 'reached' } : undefined
}
