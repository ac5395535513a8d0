import type { CatalogProject } from '@nextvisit/catalog'
import { PLAN_LIMITS, type PlanLimit, type UsageAnswer } from '@nextvisit/contracts'
import { boundsOfMonth, monthBefore } from '@nextvisit/domain'
import type { Answer } from '../api-routes.ts'
import type { LimitLine } from './api.ts'
import {
  atLastMonthsRateInWords,
  type Forecast,
  forecastAtRate,
  forecastInWords,
  forecastOf,
  isRough,
  roughInWords,
} from './forecast.ts'

interface UsageParts {
  readonly plan: CatalogProject['plan']
  /** Metering's counters of this month and the previous one. */
  readonly usage: UsageAnswer
  readonly before: UsageAnswer
  readonly nowMs: number
}

/** Above this share of a limit the outlook is a warning at any rate. */
const NEARLY_USED = 0.9

/** Builds a project's use of each limit, with a forecast. */
export function projectUsageOf({ plan, usage, before, nowMs }: UsageParts): Answer<'readUsage'> {
  const { month } = usage
  const { startMs, endMs } = boundsOfMonth(month)
  return {
    at: new Date(nowMs).toISOString(),
    month,
    monthEndsAt: new Date(endMs).toISOString(),
    elapsed: (nowMs - startMs) / (endMs - startMs),
    isStale: usage.stale ?? false,
    limits: PLAN_LIMITS.map((limit) => {
      const used = usage[limit.usage]
      const usedBefore = before[limit.usage]
      const use = { used, added: limit.isMonthly ? used : used - usedBefore, ...appliedLimit(plan[limit.name], limit) }
      return lineOf(limit, use, usedBefore, month, nowMs)
    }),
  }
}

/** Returns the limits with no room left. Their lines do not depend on the previous month. */
export function reachedLinesOf(parts: Omit<UsageParts, 'before'>): readonly LimitLine[] {
  return projectUsageOf({ ...parts, before: parts.usage }).limits.filter(({ outlook }) => outlook === 'reached')
}

/** Returns the lower of a plan's limit and the bound (decisions.md, Bounds). */
function appliedLimit(planned: number | undefined, { bound }: PlanLimit): Pick<LimitLine, 'limit' | 'setBy'> {
  if (planned !== undefined && planned <= (bound ?? Infinity)) return { limit: planned, setBy: 'plan' }
  return { limit: bound, setBy: bound === null ? null : 'bound' }
}

/** `usedBefore`: final count of the previous month. */
function lineOf(
  limit: PlanLimit,
  counts: Pick<LimitLine, 'used' | 'added' | 'limit' | 'setBy'>,
  usedBefore: number,
  month: string,
  nowMs: number,
): LimitLine {
  const { name, title, of, isMonthly } = limit
  const use = { ...counts, isMonthly }
  const forecast = forecastOf(use, month, nowMs)
  const words = [forecastInWords(forecast, limit, month, nowMs)]
  if (isRough(month, nowMs)) {
    if (isOfRate(forecast)) words.push(roughInWords(month, nowMs))
    const { startMs, endMs } = boundsOfMonth(monthBefore(month))
    if (isMonthly) {
      const atLastMonthsRate = forecastAtRate(use, usedBefore / (endMs - startMs), month, nowMs)
      words.push(...atLastMonthsRateInWords(atLastMonthsRate, nowMs))
    }
  }
  return {
    ...use,
    name,
    title,
    of,
    outlook: outlookOf(forecast, use, nowMs),
    words: words.join(' '),
    reachedAt: forecast.outcome === 'reached-on' ? new Date(forecast.atMs).toISOString() : null,
  }
}

function isOfRate({ outcome }: Forecast): boolean {
  return outcome !== 'unlimited' && outcome !== 'reached' && outcome !== 'too-early'
}

/** Forecasts beyond a month need no attention yet. */
const LOOK_AHEAD_MS = 31 * 86_400_000

function outlookOf(
  forecast: Forecast,
  { used, limit }: Pick<LimitLine, 'used' | 'limit'>,
  nowMs: number,
): LimitLine['outlook'] {
  if (forecast.outcome === 'reached') return 'reached'
  const isSoon = forecast.outcome === 'reached-on' && forecast.atMs - nowMs <= LOOK_AHEAD_MS
  return isSoon || (limit !== null && used >= NEARLY_USED * limit) ? 'warning' : 'good'
}
