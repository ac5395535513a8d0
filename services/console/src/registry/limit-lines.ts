import type { CatalogProject } from '@nextvisit/catalog'
import { MAX_EVENT_NAMES, MAX_TRAIT_SLUGS, type UsageAnswer } from '@nextvisit/contracts'
import { boundsOfMonth, monthBefore } from '@nextvisit/domain'
import type { LimitLine, ProjectUsage } from './api.ts'
import { atLastMonthsRateInWords, forecastInWords, roughInWords } from './forecast-words.ts'
import { type Forecast, forecastAtRate, forecastOf, isRough } from './forecast.ts'

export interface UsageParts {
  readonly plan: CatalogProject['plan']
  /** Metering's counters of this month, and of the month before. */
  readonly usage: UsageAnswer
  readonly before: UsageAnswer
  readonly nowMs: number
}

/** A limit that is used by so much needs a look, whatever the rate. */
const NEARLY_USED = 0.9

/** A project's use of each limit, and when it is reached at this rate. */
export function projectUsageOf({ plan, usage, before, nowMs }: UsageParts): ProjectUsage {
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

/** The limits of which nothing is left. What is reached has no rate, so the month before does not matter. */
export function reachedLinesOf(parts: Omit<UsageParts, 'before'>): readonly LimitLine[] {
  return projectUsageOf({ ...parts, before: parts.usage }).limits.filter(({ outlook }) => outlook === 'reached')
}

/** The lower of the two applies (decisions.md, Bounds). */
function capOf(planned: number | undefined, bound: number): Pick<LimitLine, 'setBy'> & { readonly limit: number } {
  return planned !== undefined && planned <= bound
    ? { limit: planned, setBy: 'plan' }
    : { limit: bound, setBy: 'bound' }
}

type Counted = Pick<LimitLine, 'name' | 'of' | 'isMonthly' | 'used' | 'added' | 'limit' | 'setBy'> & {
  /** What the count came to; only of one that begins again. */
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

/** A month is as far as one has to look; names that run out next year need nobody today. */
const LOOK_AHEAD_MS = 31 * 86_400_000

function outlookOf(forecast: Forecast, { used, limit }: Counted, nowMs: number): LimitLine['outlook'] {
  if (forecast.outcome === 'reached') return 'reached'
  const isSoon = forecast.outcome === 'reached-on' && forecast.atMs - nowMs <= LOOK_AHEAD_MS
  return isSoon || (limit !== null && used >= NEARLY_USED * limit) ? 'warning' : 'good'
}
