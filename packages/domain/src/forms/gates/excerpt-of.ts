import { firstCharacters, isLongerThan, isTraitScalar, type TraitScalar, type TraitValue } from '@nextvisit/contracts'

const EXCERPT = { characters: 100, items: 20 }

/**
 * Shortens a value for a decision: the first 100 characters of a text, the first 20 values of a list (forms.md, Gates). A
 * trait may have 50 KB, and each form that reads it has a decision of its own.
 */
export function excerptOf(value: TraitValue | undefined): TraitValue | undefined {
  if (value === undefined) return value
  return isTraitScalar(value) ? cut(value) : value.slice(0, EXCERPT.items).map(cut)
}

function cut(value: TraitScalar): TraitScalar {
  if (typeof value !== 'string' || !isLongerThan(value, EXCERPT.characters)) return value
  // By code points: Postgres refuses half a character.
  return `${firstCharacters(value, EXCERPT.characters)}…`
}
