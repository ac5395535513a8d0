import { type KeyEntry, NAME_CAPS } from '@nextvisit/contracts'
import type { ProjectPolicy } from '../project-policy.ts'

/** The part of the request's API key that decides about names. */
type NamingKey = Pick<KeyEntry, 'kind' | 'environment'>

/**
 * Returns the cap on the project's event names, and the reason for a refusal when it is reached. For an SDK key the cap is
 * 0 if the project does not let clients create events and does not declare this one (decision 0007).
 */
export function capOnNewEvents(
  { plan, config, declaredEvents }: Pick<ProjectPolicy, 'plan' | 'config' | 'declaredEvents'>,
  { kind, environment }: NamingKey,
  slug: string,
): { readonly limit: number; readonly reason: 'newEvent' | 'uniqueEvents' } {
  if (kind === 'sdk' && !config.clientCreatedEvents && !declaredEvents.has(slug))
    return { limit: 0, reason: 'newEvent' }
  const planned = environment === 'P' ? plan.uniqueEvents : undefined
  return { limit: Math.min(planned ?? NAME_CAPS.event.bound, NAME_CAPS.event.bound), reason: NAME_CAPS.event.refusal }
}

/**
 * Returns the cap on new trait slugs. For an SDK key the cap is 0 for undeclared slugs if the project does not let clients
 * create traits (decision 0007).
 */
export function capsOnNewTraits(
  { plan, config, declaredTraits }: Pick<ProjectPolicy, 'plan' | 'config' | 'declaredTraits'>,
  { kind }: NamingKey,
  slugs: readonly string[],
): readonly { readonly slugs: readonly string[]; readonly limit: number }[] {
  const limit = Math.min(plan.uniqueTraits ?? NAME_CAPS.trait.bound, NAME_CAPS.trait.bound)
  if (kind === 'admin' || config.clientCreatedTraits) return [{ slugs, limit }]
  const isDeclared = (slug: string) => declaredTraits.has(slug)
  return [
    { slugs: slugs.filter(isDeclared), limit },
    { slugs: slugs.filter((slug) => !isDeclared(slug)), limit: 0 },
  ]
}
