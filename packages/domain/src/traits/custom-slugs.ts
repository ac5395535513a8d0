import { KNOWN_FIELDS, type TraitOperations } from '@nextvisit/contracts'
import type { TraitChange } from '../bodies/trait-operations-body.ts'

const knownFields: ReadonlySet<string> = new Set(KNOWN_FIELDS)

/** Returns whether a slug is neither a device field nor a known personal field. Only such slugs count toward the cap on traits. */
export function isCustomSlug(slug: string): boolean {
  return !knownFields.has(slug)
}

/** Returns the custom slugs that changes register, each once, in the order in which they are admitted. `$unset` registers nothing. */
export function registeringSlugs(changes: readonly TraitChange[]): readonly string[] {
  const registering = changes.filter(({ operator, slug }) => operator !== 'unset' && isCustomSlug(slug))
  return [...new Set(registering.map(({ slug }) => slug))]
}

/** Returns the custom slugs that the operations of a record register, each once (decisions.md, Identify). */
export function customTraitSlugs(operations: TraitOperations): readonly string[] {
  const { set = {}, setOnce = {}, increment = {}, decrement = {} } = operations
  const slugs = new Set([set, setOnce, increment, decrement].flatMap((members) => Object.keys(members)))
  return [...slugs].filter(isCustomSlug)
}
