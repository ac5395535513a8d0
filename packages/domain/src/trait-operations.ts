import { KNOWN_FIELDS, type TraitOperations, type TraitValue } from '@nextvisit/contracts'

const knownFields: ReadonlySet<string> = new Set(KNOWN_FIELDS)

export interface AppliedTraits {
  readonly traits: Map<string, TraitValue>
  /** Slugs whose increment or decrement was skipped, in the order of application; for a metric. */
  readonly skippedIncrements: string[]
}

/**
 * One request's operations on a user's traits, in the order set, setOnce, increment, decrement, unset (decisions.md,
 * Identify). The given map is not changed.
 *
 * An increment of an unset trait starts at 0. It is skipped where the trait is not a number, and likewise where the sum
 * would not be finite (1e308 + 1e308): JSON has no Infinity, so no read model could hold it. `setOnce` keeps a trait that
 * is set, also to `null`.
 */
export function applyTraitOperations(
  traits: ReadonlyMap<string, TraitValue>,
  operations: TraitOperations,
): AppliedTraits {
  const next = new Map(traits)
  const skippedIncrements: string[] = []

  const add = (slug: string, amount: number) => {
    const value = next.has(slug) ? next.get(slug) : 0
    const sum = typeof value === 'number' ? value + amount : Number.NaN
    if (Number.isFinite(sum)) next.set(slug, sum)
    else skippedIncrements.push(slug)
  }

  for (const [slug, value] of Object.entries(operations.set ?? {})) next.set(slug, value)
  for (const [slug, value] of Object.entries(operations.setOnce ?? {})) if (!next.has(slug)) next.set(slug, value)
  for (const [slug, amount] of Object.entries(operations.increment ?? {})) add(slug, amount)
  for (const [slug, amount] of Object.entries(operations.decrement ?? {})) add(slug, -amount)
  for (const slug of operations.unset ?? []) next.delete(slug)
  return { traits: next, skippedIncrements }
}

/**
 * An imported identify's operations: the traits that they give a user without traits, taken only where a trait is unset
 * (decisions.md, Import). So they overwrite, increment and remove nothing.
 */
export function applyImportedOperations(
  traits: ReadonlyMap<string, TraitValue>,
  operations: TraitOperations,
): AppliedTraits {
  const imported = applyTraitOperations(new Map(), operations)
  const next = new Map(traits)
  for (const [slug, value] of imported.traits) if (!next.has(slug)) next.set(slug, value)
  return { ...imported, traits: next }
}

/**
 * The custom slugs that a record with these operations uses in its project, each once. Unset registers nothing, and known
 * fields (device and personal ones) are not custom traits (decisions.md, Identify).
 */
export function customTraitSlugs(operations: TraitOperations): string[] {
  const { set = {}, setOnce = {}, increment = {}, decrement = {} } = operations
  const slugs = new Set([set, setOnce, increment, decrement].flatMap((members) => Object.keys(members)))
  return [...slugs].filter((slug) => !knownFields.has(slug))
}
