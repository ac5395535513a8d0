import type { EventTracked, IdentifyRequested } from '@nextvisit/contracts'
import { customTraitSlugs } from './custom-slugs.ts'

/** A name that a record carries: of its event, or of a trait. */
export interface CarriedName {
  readonly kind: 'event' | 'trait'
  readonly slug: string
  readonly name: string
  /** The record got the verdict `new` for it. */
  readonly isNew: boolean
}

/** What folding a record registers, whatever verdict it got. */
export function carriedNames(fact: EventTracked | IdentifyRequested): readonly CarriedName[] {
  if (fact.type === 'EventTracked') {
    return [{ kind: 'event', slug: fact.slug, name: fact.eventName, isNew: fact.newEvent }]
  }
  const registered = new Set(fact.registeredTraits)
  return customTraitSlugs(fact.operations).map((slug) => {
    return { kind: 'trait', slug, name: slug, isNew: registered.has(slug) }
  })
}
