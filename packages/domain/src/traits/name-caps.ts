import { type KeyEntry, MAX_EVENT_NAMES, MAX_TRAIT_SLUGS, type Plan, type ProjectConfig } from '@nextvisit/contracts'

/** Of a project, what decides how many names it may have and who makes new ones; a project in the catalog is one. */
export interface NamePolicy {
  readonly plan: Plan
  readonly config: Pick<ProjectConfig, 'clientCreatedEvents' | 'clientCreatedTraits'>
  /** Slugs that the project knows before the first record. */
  readonly declaredEvents: ReadonlySet<string>
  readonly declaredTraits: ReadonlySet<string>
}

/** Of the API key that a name comes with. */
type NamingKey = Pick<KeyEntry, 'kind' | 'environment'>

/**
 * The cap on the project's event names, and the refusal where it is reached. None may be new for an SDK key where the
 * project does not let clients create events and does not declare this one (docs/decisions, 7).
 */
export function capOnNewEvents(
  { plan, config, declaredEvents }: NamePolicy,
  { kind, environment }: NamingKey,
  slug: string,
): { readonly limit: number; readonly reason: 'newEvent' | 'uniqueEvents' } {
  if (kind === 'sdk' && !config.clientCreatedEvents && !declaredEvents.has(slug))
    return { limit: 0, reason: 'newEvent' }
  const planned = environment === 'P' ? plan.uniqueEvents : undefined
  return { limit: Math.min(planned ?? MAX_EVENT_NAMES, MAX_EVENT_NAMES), reason: 'uniqueEvents' }
}

/**
 * The cap on the project's trait slugs. For an SDK key where the project does not let clients create traits, only those
 * that it declares may be new (docs/decisions, 7).
 */
export function capsOnNewTraits(
  { plan, config, declaredTraits }: NamePolicy,
  { kind }: NamingKey,
  slugs: readonly string[],
): readonly { readonly slugs: readonly string[]; readonly limit: number }[] {
  const limit = Math.min(plan.uniqueTraits ?? MAX_TRAIT_SLUGS, MAX_TRAIT_SLUGS)
  if (kind === 'admin' || config.clientCreatedTraits) return [{ slugs, limit }]
  const isDeclared = (slug: string) => declaredTraits.has(slug)
  return [
    { slugs: slugs.filter(isDeclared), limit },
    { slugs: slugs.filter((slug) => !isDeclared(slug)), limit: 0 },
  ]
}
