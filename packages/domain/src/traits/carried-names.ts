import type { AnyActivityFact, NameKind } from '@nextvisit/contracts'

/** A name in a record: of its event, or of a trait. */
export interface CarriedName {
  readonly kind: NameKind
  readonly slug: string
  readonly name: string
  /** Admission granted the name as new with this record. */
  readonly isNew: boolean
}

/** Returns the names that folding a record registers, whatever its verdict. */
export function carriedNames(fact: AnyActivityFact): readonly CarriedName[] {
  if (fact.type === 'EventTracked') {
    return [{ kind: 'event', slug: fact.slug, name: fact.eventName, isNew: fact.newEvent }]
  }
  const registered = new Set(fact.registeredTraits)
  return fact.traits.map((slug) => {
    return { kind: 'trait', slug, name: slug, isNew: registered.has(slug) }
  })
}
