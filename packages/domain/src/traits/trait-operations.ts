import type { TraitOperations, TraitValue } from '@nextvisit/contracts'
import { EMPTY_PROFILE, type Profile, type ProfileChange } from './profile.ts'
import { traitBytesOf, USER_LIMITS } from './trait-limits.ts'
import { TRAIT_OPERATORS, traitChangesOf } from './trait-operators.ts'

type TraitLimits = { readonly [Limit in 'traits' | 'traitBytes']: number }
const UNLIMITED: TraitLimits = { traits: Infinity, traitBytes: Infinity }

/**
 * Applies one request's operations to a user's traits, in the order of the operators (decisions.md, Identify). `before` is
 * not changed. If nothing changes, the result has the same map. An operation that would exceed a limit is dropped, and the
 * trait keeps its value.
 */
export function applyTraitOperations(
  before: Profile,
  operations: TraitOperations,
  limits: TraitLimits = USER_LIMITS,
): ProfileChange {
  const { traits, put, unset, changed } = createTraitWriter(before, limits)
  const skipped: string[] = []
  for (const { operator, slug, value } of traitChangesOf(operations)) {
    const effect = TRAIT_OPERATORS[operator].apply(traits().get(slug), value as never)
    if (effect.outcome === 'set') put(slug, effect.value)
    else if (effect.outcome === 'unset') unset(slug)
    else skipped.push(slug)
  }
  return { ...changed(), skipped }
}

/**
 * Applies an imported identify's operations: only unset traits get the values that a user without traits would have
 * (decisions.md, Import). They overwrite, increment and remove nothing. The same limits apply.
 */
export function applyImportedOperations(before: Profile, operations: TraitOperations): ProfileChange {
  const { profile: alone, skipped } = applyTraitOperations(EMPTY_PROFILE, operations, UNLIMITED)
  const { traits, put, changed } = createTraitWriter(before, USER_LIMITS)
  for (const [slug, value] of alone.traits) if (!traits().has(slug)) put(slug, value)
  return { ...changed(), skipped }
}

/** Writes to a copy, which the first change makes. The size is updated with each change, so nothing is measured twice. */
function createTraitWriter(before: Profile, limits: TraitLimits) {
  const dropped: string[] = []
  let { traits, traitBytes } = before
  let copy: Map<string, TraitValue> | undefined

  const writable = (): Map<string, TraitValue> => {
    copy ??= new Map(traits)
    traits = copy
    return copy
  }

  return {
    traits: () => traits,
    changed: () => ({ profile: { traits, traitBytes, device: before.device }, dropped }),
    put: (slug: string, value: TraitValue): void => {
      const known = traits.get(slug)
      if (known !== undefined && isSame(known, value)) return
      const count = known === undefined ? traits.size + 1 : traits.size
      const bytes = traitBytes + traitBytesOf(slug, value) - (known === undefined ? 0 : traitBytesOf(slug, known))
      if (count > limits.traits || bytes > limits.traitBytes) {
        dropped.push(slug)
        return
      }
      writable().set(slug, value)
      traitBytes = bytes
    },
    unset: (slug: string): void => {
      const known = traits.get(slug)
      if (known === undefined) return
      writable().delete(slug)
      traitBytes -= traitBytesOf(slug, known)
    },
  }
}

/** Returns whether two values are equal as JSON, so that nothing needs to be written. */
function isSame(one: TraitValue, other: TraitValue): boolean {
  return one === other || (Array.isArray(one) && Array.isArray(other) && JSON.stringify(one) === JSON.stringify(other))
}
