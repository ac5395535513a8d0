import type { Operations, Value } from './facts.ts'

const isNumber = (value: unknown): value is number => typeof value === 'number'

/** Maximum number of traits of a user (decisions.md, Identify). */
const MAX_TRAITS = 1_000
const MAX_TRAIT_BYTES = 262_144
const MAX_DEVICE_FACT_BYTES = 2_048

interface Limits {
  readonly traits: number
  readonly bytes: number
}
const LIMITS: Limits = { traits: MAX_TRAITS, bytes: MAX_TRAIT_BYTES }
const NO_LIMITS: Limits = { traits: Infinity, bytes: Infinity }

/** Sizes of trait maps in bytes, cached because measuring a large map at each operation is slow. */
const sizes = new WeakMap<ReadonlyMap<string, Value>, number>()

export function traitBytes(traits: ReadonlyMap<string, Value>): number {
  return sizes.get(traits) ?? [...traits].reduce((sum, [slug, value]) => sum + bytesOf(slug, value), 0)
}

/** Returns the bytes of slug and value as JSON; a number with an exponent counts as many additional bytes as the exponent. */
function bytesOf(slug: string, value: Value): number {
  const exponents = [value].flat().flatMap((one) => (isNumber(one) ? (/e([+-]\d+)$/.exec(`${one}`)?.[1] ?? []) : []))
  const json = new TextEncoder().encode(JSON.stringify(slug) + JSON.stringify(value))
  return exponents.reduce((sum, exponent) => sum + Math.abs(Number(exponent)), json.length)
}

/** Sets a trait. Returns whether there was room for it. */
function put(traits: Map<string, Value>, slug: string, value: Value, limits: Limits): boolean {
  const before = traits.get(slug)
  const bytes = traitBytes(traits) + bytesOf(slug, value) - (before === undefined ? 0 : bytesOf(slug, before))
  if (bytes > limits.bytes || (before === undefined && traits.size >= limits.traits)) return false
  traits.set(slug, value)
  sizes.set(traits, bytes)
  return true
}

function remove(traits: Map<string, Value>, slug: string): void {
  const before = traits.get(slug)
  if (before === undefined) return
  const bytes = traitBytes(traits) - bytesOf(slug, before)
  traits.delete(slug)
  sizes.set(traits, bytes)
}

/**
 * Applies one request's operations to a user's traits (decisions.md, Identify). Returns the number of operations
 * that were dropped because of the limits.
 */
export function operate(traits: Map<string, Value>, operations: Operations, limits: Limits = LIMITS): number {
  const { set, setOnce, increment, decrement, unset } = operations
  let dropped = 0
  const write = (slug: string, value: Value): void => {
    if (!put(traits, slug, value, limits)) dropped += 1
  }
  /** Adds to a number. Skipped if the trait is not a number, or the sum would not be finite. */
  const add = (slug: string, by: number): void => {
    const before = traits.has(slug) ? traits.get(slug) : 0
    if (isNumber(before) && Number.isFinite(before + by)) write(slug, before + by)
  }
  for (const [slug, value] of Object.entries(set ?? {})) write(slug, value)
  for (const [slug, value] of Object.entries(setOnce ?? {})) if (!traits.has(slug)) write(slug, value)
  for (const [slug, by] of Object.entries(increment ?? {})) add(slug, by)
  for (const [slug, by] of Object.entries(decrement ?? {})) add(slug, -by)
  for (const slug of unset ?? []) remove(traits, slug)
  return dropped
}

/** Returns the device facts that are not too long. */
export function keptDevice(device: Readonly<Record<string, string>>): readonly [string, string][] {
  return Object.entries(device).filter(([, value]) => new TextEncoder().encode(value).length <= MAX_DEVICE_FACT_BYTES)
}

/** Device facts and personal fields, which are not a project's own traits (contract, Device info). */
const KNOWN_FIELDS = new Set(
  `$countryCode $timezone $deviceOs $deviceOsVersion $sdkVersion $app $appVersion $deviceLanguage $userLanguage $deviceId
   $urlOrScreenName $deviceType $deviceSize $preferredTheme $browser $browserVersion
   email phone name firstName lastName address birthday gender ipAddress`.split(/\s+/),
)

/** Returns the slugs that a record sets or adds to, without the known fields. */
export function slugsOf({ set, setOnce, increment, decrement }: Operations): ReadonlySet<string> {
  const slugs = [set, setOnce, increment, decrement].flatMap((members) => Object.keys(members ?? {}))
  return new Set(slugs.filter((slug) => !KNOWN_FIELDS.has(slug)))
}

/**
 * Applies operations as for a user without traits, and sets only unset traits (decisions.md, Import).
 * Returns the number of dropped operations.
 */
export function fillIn(traits: Map<string, Value>, operations: Operations): number {
  const alone = new Map<string, Value>()
  operate(alone, operations, NO_LIMITS)
  return [...alone].filter(([slug, value]) => !traits.has(slug) && !put(traits, slug, value, LIMITS)).length
}
