import type { TraitOperations, TraitValue } from '@nextvisit/contracts'
import { traitBytesOf, USER_LIMITS } from './trait-limits.ts'

/** A user's traits, and their total size in bytes (`traitBytesOf`). */
export interface SizedTraits {
  readonly traits: ReadonlyMap<string, TraitValue>
  readonly traitBytes: number
}

export interface AppliedTraits extends SizedTraits {
  /** Slugs whose increment or decrement was skipped, in the order of application, for a metric. */
  readonly skippedIncrements: readonly string[]
  /** Slugs of operations that a limit dropped, in the order of application. */
  readonly dropped: readonly string[]
}

export const NO_TRAITS: SizedTraits = { traits: new Map(), traitBytes: 0 }

const UNLIMITED = { traits: Infinity, traitBytes: Infinity }

/**
 * Applies one request's operations to a user's traits, in the order set, setOnce, increment, decrement, unset
 * (decisions.md, Identify). `before` is not changed. If nothing changes, the result has the same map.
 *
 * An increment of an unset trait starts at 0. It is skipped if the trait is not a number, or if the sum is not finite
 * (1e308 + 1e308), since JSON has no Infinity. `setOnce` keeps a trait that is set, also one set to `null`. An operation
 * that would exceed a limit is dropped, and the trait keeps its value.
 */
export function applyTraitOperations(
  before: SizedTraits,
  operations: TraitOperations,
  limits: { readonly traits: number; readonly traitBytes: number } = USER_LIMITS,
): AppliedTraits {
  const { current, put, unset, dropped } = createTraitWriter(before, limits)
  const skippedIncrements: string[] = []

  const add = (slug: string, amount: number) => {
    const { traits } = current()
    const value = traits.has(slug) ? traits.get(slug) : 0
    const sum = typeof value === 'number' ? value + amount : Number.NaN
    if (Number.isFinite(sum)) put(slug, sum)
    else skippedIncrements.push(slug)
  }

  for (const [slug, value] of Object.entries(operations.set ?? {})) put(slug, value)
  for (const [slug, value] of Object.entries(operations.setOnce ?? {}))
    if (!current().traits.has(slug)) put(slug, value)
  for (const [slug, amount] of Object.entries(operations.increment ?? {})) add(slug, amount)
  for (const [slug, amount] of Object.entries(operations.decrement ?? {})) add(slug, -amount)
  for (const slug of operations.unset ?? []) unset(slug)
  return { ...current(), skippedIncrements, dropped }
}

/**
 * Applies an imported identify's operations: only unset traits get the values that a user without traits would have
 * (decisions.md, Import). They overwrite, increment and remove nothing. The same limits apply.
 */
export function applyImportedOperations(before: SizedTraits, operations: TraitOperations): AppliedTraits {
  const alone = applyTraitOperations(NO_TRAITS, operations, UNLIMITED)
  const { current, put, dropped } = createTraitWriter(before, USER_LIMITS)
  for (const [slug, value] of alone.traits) if (!current().traits.has(slug)) put(slug, value)
  return { ...current(), skippedIncrements: alone.skippedIncrements, dropped }
}

/** Writes to a copy, which the first change makes. The size is updated with each change, so nothing is measured twice. */
function createTraitWriter(before: SizedTraits, limits: { readonly traits: number; readonly traitBytes: number }) {
  const dropped: string[] = []
  let { traits, traitBytes } = before
  let copy: Map<string, TraitValue> | undefined

  const writable = (): Map<string, TraitValue> => {
    copy ??= new Map(traits)
    traits = copy
    return copy
  }

  return {
    dropped,
    current: (): SizedTraits => ({ traits, traitBytes }),
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
  if (Array.isArray(one) && Array.isArray(other)) return JSON.stringify(one) === JSON.stringify(other)
  return one === other
}
