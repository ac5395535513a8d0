import { Day, Environment, LanguageTag } from '@nextvisit/contracts'
import { type Refusal, REFUSALS, refuse } from '../refusals/refusals.ts'

interface ResultsQuery {
  readonly environment: Environment
  readonly language?: string
  /** The first day. */
  readonly from?: string
  /** The day after the last. */
  readonly to?: string
}

/** Parses `?from=`, `?to=`, `?environment=` and `?language=` (forms.md, Results). */
export function parseResultsQuery(
  parameters: URLSearchParams,
): { readonly outcome: 'results'; readonly query: ResultsQuery } | Refusal {
  const [from, to, language] = ['from', 'to', 'language'].map((name) => parameters.get(name) ?? undefined)
  if (from !== undefined && !Day.safeParse(from).success) return refuse(REFUSALS.from)
  if (to !== undefined && !Day.safeParse(to).success) return refuse(REFUSALS.to)
  if (from !== undefined && to !== undefined && from >= to) return refuse(REFUSALS.days)
  const parsed = parseEnvironment(parameters)
  if (parsed.outcome === 'refused') return parsed
  if (language !== undefined && !LanguageTag.safeParse(language).success) return refuse(REFUSALS.resultsLanguage)
  const { environment } = parsed
  return {
    outcome: 'results',
    query: { environment, ...(from && { from }), ...(to && { to }), ...(language && { language }) },
  }
}

/** Parses `?environment=`, by default that of production. Answers in the other one are tests. */
export function parseEnvironment(
  parameters: URLSearchParams,
): { readonly outcome: 'environment'; readonly environment: Environment } | Refusal {
  const { data } = Environment.default('P').safeParse(parameters.get('environment') ?? undefined)
  return data ? { outcome: 'environment', environment: data } : refuse(REFUSALS.environment)
}
