import { KNOWN_FIELDS } from '@nextvisit/contracts'
import { TRAIT_OPERATORS, type TraitChange } from './trait-operators.ts'

const knownFields: ReadonlySet<string> = new Set(KNOWN_FIELDS)

/**
 * Returns true if a slug is neither a device field nor a known personal field. Only such slugs count toward the cap on
 * traits.
 */
export function isCustomSlug(slug: string): boolean {
  return !knownFields.has(slug)
}

/**
 * Returns the custom slugs that changes register, each once, in the order in which they are admitted. `$unset`
 * registers nothing.
 */
export function registeringSlugs(changes: readonly TraitChange[]): readonly string[] {
  const registering = changes.filter(({ operator, slug }) => {
    return TRAIT_OPERATORS[operator].operand !== 'none' && isCustomSlug(slug)
  })
  return [...new Set(registering.map(({ slug }) => slug))]
}
