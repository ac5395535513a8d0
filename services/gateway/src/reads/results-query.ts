import { Day, Environment, LanguageTag, ResultDays } from '@nextvisit/contracts'
import { type Refusal, REFUSALS, refuse } from '../refusals/refusals.ts'

/** `days`: absent for the whole time. */
interface ResultsQuery {
  readonly environment: Environment
  readonly language?: string
  readonly days?: ResultDays
}

/** Parses `?from=`, `?to=`, `?environment=` and `?language=` (forms.md, Results). */
export function parseResultsQuery(
  parameters: URLSearchParams,
  nowMs: number,
): { readonly outcome: 'results'; readonly query: ResultsQuery } | Refusal {
  const [from, to, language] = ['from', 'to', 'language'].map((name) => parameters.get(name) ?? undefined)
  if (from !== undefined && !Day.safeParse(from).success) return refuse(REFUSALS.from)
  if (to !== undefined && !Day.safeParse(to).success) return refuse(REFUSALS.to)
  if (from !== undefined && to !== undefined && from >= to) return refuse(REFUSALS.days)
  const days = from === undefined && to === undefined ? undefined : daysFrom(from, to, nowMs)
  if (days === 'too many') return refuse(REFUSALS.resultDays)
  const parsed = parseEnvironment(parameters)
  if (parsed.outcome === 'refused') return parsed
  if (language !== undefined && !LanguageTag.safeParse(language).success) return refuse(REFUSALS.resultsLanguage)
  const query = { environment: parsed.environment, ...(days && { days }), ...(language && { language }) }
  return { outcome: 'results', query }
}

/** A day before `from` could have counts, so `to` alone is no range. */
function daysFrom(from: string | undefined, to: string | undefined, nowMs: number): ResultDays | 'too many' {
  if (from === undefined) return 'too many'
  const days = { from, to: to ?? tomorrow(from, nowMs) }
  return ResultDays.safeParse(days).success ? days : 'too many'
}

const DAY_MS = 24 * 3_600_000

/** Returns the day after today, or `from` if it is later: nothing is counted then. */
function tomorrow(from: string, nowMs: number): string {
  const day = new Date(nowMs + DAY_MS).toISOString().slice(0, 'YYYY-MM-DD'.length)
  return from > day ? from : day
}

/** Parses `?environment=`, by default that of production. Answers in the other one are tests. */
export function parseEnvironment(
  parameters: URLSearchParams,
): { readonly outcome: 'environment'; readonly environment: Environment } | Refusal {
  const { data } = Environment.default('P').safeParse(parameters.get('environment') ?? undefined)
  return data ? { outcome: 'environment', environment: data } : refuse(REFUSALS.environment)
}
