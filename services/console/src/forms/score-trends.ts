import type { FormDaysAnswer } from '@nextvisit/contracts'
import type { Score, ScoreTrend } from './api.ts'

type DayOfForm = FormDaysAnswer['days'][number]
type ScoreOfDay = DayOfForm['scores'][number]

const DAY_MS = 86_400_000
/** Longest periods in days whose parts are a day and a week: about thirty points fit in a chart. */
const BY_DAY_UP_TO = 31
const BY_WEEK_UP_TO = 190

/** Returns the UTC day of an instant in ms. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** Returns the day that is this many days later. */
export function daysAfter(day: string, days: number): string {
  return dayOf(Date.parse(day) + days * DAY_MS)
}

/**
 * Gathers the scores of days by element and by part of the period `from` to `to`, both included. A part without answers has
 * the value null. `from` null: the period begins with the first score.
 */
export function scoreTrends(days: readonly DayOfForm[], from: string | null, to: string): ScoreTrend[] {
  const scored = days.filter(({ scores }) => scores.length > 0)
  const first = from ?? scored.map(({ day }) => day).toSorted()[0]
  if (first === undefined) return []
  const part = partFor(first, to)
  const begins = beginsOfParts(part, first, to)
  const all = scored.flatMap(({ day, scores }) => scores.map((score) => ({ ...score, part: beginOf(part, day) })))
  const byElement = Map.groupBy(all, ({ id, type }) => `${id} ${type}`)
  return Array.from(byElement.values(), (own) => {
    const byPart = Map.groupBy(own, (score) => score.part)
    const scores = begins.map((begin) => ({ from: begin, ...gathered(byPart.get(begin) ?? []) }))
    const { id = '', type = 'nps' } = own[0] ?? {}
    return { id, type, part, scores }
  })
}

function partFor(from: string, to: string): ScoreTrend['part'] {
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  return days <= BY_DAY_UP_TO ? 'day' : days <= BY_WEEK_UP_TO ? 'week' : 'month'
}

/** Returns the first day of the part that a day is in. Weeks begin on Monday. */
function beginOf(part: ScoreTrend['part'], day: string): string {
  if (part === 'day') return day
  if (part === 'month') return `${day.slice(0, 7)}-01`
  return daysAfter(day, -((new Date(day).getUTCDay() + 6) % 7))
}

function beginsOfParts(part: ScoreTrend['part'], from: string, to: string): readonly string[] {
  const begins: string[] = []
  for (let day = from; day <= to; day = daysAfter(day, 1)) {
    const begin = beginOf(part, day)
    if (begin !== begins.at(-1)) begins.push(begin)
  }
  return begins
}

/** The NPS of several days is the mean of theirs, weighted with the number of answers. */
function gathered(scores: readonly ScoreOfDay[]): Pick<Score, 'value' | 'count'> {
  const count = scores.reduce((sum, score) => sum + score.count, 0)
  const total = scores.reduce((sum, { type, nps, average, count: times }) => {
    return sum + times * (type === 'nps' ? (nps ?? 0) : average)
  }, 0)
  return { count, value: count === 0 ? null : total / count }
}
