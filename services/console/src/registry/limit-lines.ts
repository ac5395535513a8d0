import type { CatalogProject } from '@nextvisit/catalog'
import { MAX_EVENT_NAMES, MAX_TRAIT_SLUGS, type UsageAnswer } from '@nextvisit/contracts'
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
  const lineOf = createLineOf(month, nowMs)
  const monthly = { isMonthly: true, setBy: 'plan' } as const
  const names = { of: 'project', isMonthly: false } as const
  return {
    at: new Date(nowMs).toISOString(),
    month,
    monthEndsAt: new Date(endMs).toISOString(),
    elapsed: (nowMs - startMs) / (endMs - startMs),
    limits: [
      lineOf({
        ...monthly,
        name: 'eventsPerMonth',
        of: 'organization',
        limit: plan.eventsPerMonth ?? null,
        used: usage.events,
        added: usage.events,
        lastMonth: before.events,
      }),
      lineOf({
        ...monthly,
        name: 'monthlyActiveUsers',
        of: 'project',
        limit: plan.monthlyActiveUsers ?? null,
        used: usage.monthlyActiveUsers,
        added: usage.monthlyActiveUsers,
        lastMonth: before.monthlyActiveUsers,
      }),
      lineOf({
        ...names,
        ...capOf(plan.uniqueEvents, MAX_EVENT_NAMES),
        name: 'uniqueEvents',
        used: usage.uniqueEvents,
        added: usage.uniqueEvents - before.uniqueEvents,
      }),
      lineOf({
        ...names,
        ...capOf(plan.uniqueTraits, MAX_TRAIT_SLUGS),
        name: 'uniqueTraits',
        used: usage.uniqueTraits,
        added: usage.uniqueTraits - before.uniqueTraits,
      }),
    ],
  }
}

/** Returns the limits with no room left. Their lines do not depend on the previous month. */
export function reachedLinesOf(parts: Omit<UsageParts, 'before'>): readonly LimitLine[] {
  return projectUsageOf({ ...parts, before: parts.usage }).limits.filter(({ outlook }) => outlook === 'reached')
}

/** Returns the lower limit, which applies (decisions.md, Bounds). */
function capOf(planned: number | undefined, bound: number): Pick<LimitLine, 'setBy'> & { readonly limit: number } {
  return planned !== undefined && planned <= bound
    ? { limit: planned, setBy: 'plan' }
    : { limit: bound, setBy: 'bound' }
}

type Counted = Pick<LimitLine, 'name' | 'of' | 'isMonthly' | 'used' | 'added' | 'limit' | 'setBy'> & {
  /** Final count of the previous month, if the count restarts every month. */
  readonly lastMonth?: number
}

function createLineOf(month: string, nowMs: number): (counted: Counted) => LimitLine {
  const { startMs, endMs } = boundsOfMonth(monthBefore(month))
  return ({ lastMonth, ...use }) => {
    const forecast = forecastOf(use, month, nowMs)
    const atLastMonthsRate =
      lastMonth === undefined ? undefined : forecastAtRate(use, lastMonth / (endMs - startMs), month, nowMs)
    const words = [forecastInWords(forecast, use.name, month, nowMs)]
    if (isRough(month, nowMs) && isOfRate(forecast)) words.push(roughInWords(month, nowMs))
    if (isRough(month, nowMs)) words.push(...atLastMonthsRateInWords(atLastMonthsRate, nowMs))
    return {
      ...use,
      setBy: use.limit === null ? null : use.setBy,
      outlook: outlookOf(forecast, use, nowMs),
      words: words.join(' '),
      reachedAt: forecast.outcome === 'reached-on' ? new Date(forecast.atMs).toISOString() : null,
    }
  }
}

function isOfRate({ outcome }: Forecast): boolean {
  return outcome !== 'unlimited' && outcome !== 'reached' && outcome !== 'too-early'
}

/** Forecasts beyond a month need no attention yet. */
const LOOK_AHEAD_MS = 31 * 86_400_000

function outlookOf(forecast: Forecast, { used, limit }: Counted, nowMs: number): LimitLine['outlook'] {
  if (forecast.outcome === 'reached') return 'reached'
  const isSoon = forecast.outcome === 'reached-on' && forecast.atMs - nowMs <= LOOK_AHEAD_MS
  return isSoon || (limit !== null && used >= NEARLY_USED * limit) ? 'warning' : 'good'
}
