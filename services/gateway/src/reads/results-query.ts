import { Day, Environment, LanguageTag } from '@nextvisit/contracts'
import { type Refusal, REFUSALS, refuse } from '../refusals/refusals.ts'

/** Days in UTC: `from` is the first one, `to` the day after the last. */
interface ResultsQuery {
  readonly environment: Environment
  readonly language?: string
  readonly from?: string
  readonly to?: string
}

/** Parses `?from=`, `?to=`, `?environment=` and `?language=` (forms.md, Results). */
export function parseResultsQuery(
  parameters: URLSearchParams,
): { readonly outcome: 'results'; readonly query: ResultsQuery } | Refusal {
  const [from, to, language] = ['from', 'to', 'language'].map((name) => parameters.get(name) ?? undefined)
  if (from !== undefined && !isDay(from)) return refuse(REFUSALS.from)
  if (to !== undefined && !isDay(to)) return refuse(REFUSALS.to)
  if (from !== undefined && to !== undefined && from >= to) return refuse(REFUSALS.days)
  const parsed = parseEnvironment(parameters)
  if (parsed.outcome === 'refused') return parsed
  if (language !== undefined && !LanguageTag.safeParse(language).success) return refuse(REFUSALS.resultsLanguage)
  const query = {
    environment: parsed.environment,
    ...(from && { from }),
    ...(to && { to }),
    ...(language && { language }),
  }
  return { outcome: 'results', query }
}

/** Parses `?environment=`, by default that of production. Answers in the other one are tests. */
export function parseEnvironment(
  parameters: URLSearchParams,
): { readonly outcome: 'environment'; readonly environment: Environment } | Refusal {
  const { data } = Environment.default('P').safeParse(parameters.get('environment') ?? undefined)
  return data ? { outcome: 'environment', environment: data } : refuse(REFUSALS.environment)
}

/** Postgres has no year 0. */
function isDay(text: string): boolean {
  return Day.safeParse(text).success && !text.startsWith('0000')
}
