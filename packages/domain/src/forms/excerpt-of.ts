import { isTraitScalar, type TraitScalar, type TraitValue } from '@nextvisit/contracts'
import { isLongerThan } from '../bodies/is-longer-than.ts'

const EXCERPT = { characters: 100, items: 20 }

/**
 * What a decision keeps of a value: the first 100 characters of a text, the first 20 values of a list. A trait may have
 * 50 KB, the properties of an event 32 KB, and each form that asks for them has a decision of its own (forms.md, Gates).
 */
export function excerptOf(value: TraitValue | undefined): TraitValue | undefined {
  if (value === undefined) return value
  return isTraitScalar(value) ? cut(value) : value.slice(0, EXCERPT.items).map(cut)
}

function cut(value: TraitScalar): TraitScalar {
  if (typeof value !== 'string' || !isLongerThan(value, EXCERPT.characters)) return value
  // By code points: half a character is no text that Postgres takes.
  const beginning = Array.from(value.slice(0, 2 * EXCERPT.characters)).slice(0, EXCERPT.characters)
  return `${beginning.join('')}…`
}
