import { MAX_EVENT_NAMES, MAX_TRAIT_SLUGS } from '@nextvisit/contracts'
import { type RefusalRule, REFUSALS } from '@nextvisit/public-api'
import type { CheckedRequest } from '../request/route.ts'

/**
 * The cap on the project's event names, and the refusal where it is reached. None may be new for an SDK key where the
 * project does not let clients create events and does not declare this one (docs/decisions, 7).
 */
export function capOnNewEvents(
  { key, project }: CheckedRequest,
  slug: string,
): { readonly limit: number; readonly refusal: RefusalRule } {
  if (key.entry.kind === 'sdk' && !project.config.clientCreatedEvents && !project.declaredEvents.has(slug))
    return { limit: 0, refusal: REFUSALS.newEvent }
  const planned = key.entry.environment === 'P' ? project.plan.uniqueEvents : undefined
  return { limit: Math.min(planned ?? MAX_EVENT_NAMES, MAX_EVENT_NAMES), refusal: REFUSALS.uniqueEvents }
}

/**
 * The cap on the project's trait slugs. For an SDK key where the project does not let clients create traits, only those
 * that it declares may be new (docs/decisions, 7).
 */
export function capsOnNewTraits(
  { key, project }: CheckedRequest,
  slugs: readonly string[],
): readonly { readonly slugs: readonly string[]; readonly limit: number }[] {
  const limit = Math.min(project.plan.uniqueTraits ?? MAX_TRAIT_SLUGS, MAX_TRAIT_SLUGS)
  if (key.entry.kind === 'admin' || project.config.clientCreatedTraits) return [{ slugs, limit }]
  const isDeclared = (slug: string) => project.declaredTraits.has(slug)
  return [
    { slugs: slugs.filter(isDeclared), limit },
    { slugs: slugs.filter((slug) => !isDeclared(slug)), limit: 0 },
  ]
}
