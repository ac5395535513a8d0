import type { Operations, Value } from './facts.ts'

const isNumber = (value: unknown): value is number => typeof value === 'number'

/** Applies one request's operations to a user's traits (docs/spec/decisions.md, Identify). */
export function operate(traits: Map<string, Value>, { set, setOnce, increment, decrement, unset }: Operations): void {
  for (const [slug, value] of Object.entries(set ?? {})) traits.set(slug, value)
  for (const [slug, value] of Object.entries(setOnce ?? {})) if (!traits.has(slug)) traits.set(slug, value)
  for (const [slug, by] of Object.entries(increment ?? {})) add(traits, slug, by)
  for (const [slug, by] of Object.entries(decrement ?? {})) add(traits, slug, -by)
  for (const slug of unset ?? []) traits.delete(slug)
}

/** Skipped where the trait is not a number, or the sum would not be finite. */
function add(traits: Map<string, Value>, slug: string, by: number): void {
  const before = traits.has(slug) ? traits.get(slug) : 0
  if (isNumber(before) && Number.isFinite(before + by)) traits.set(slug, before + by)
}

/** Device facts and personal fields: not a project's own traits (docs/spec, Device info). */
const KNOWN_FIELDS = new Set(
  `$countryCode $timezone $deviceOs $deviceOsVersion $sdkVersion $app $appVersion $deviceLanguage $userLanguage $deviceId
   $urlOrScreenName $deviceType $deviceSize $preferredTheme $browser $browserVersion
   email phone name firstName lastName address birthday gender ipAddress`.split(/\s+/),
)

/** The slugs that a record uses in its project: what it sets or adds to, without the known fields. */
export function slugsOf({ set, setOnce, increment, decrement }: Operations): ReadonlySet<string> {
  const slugs = [set, setOnce, increment, decrement].flatMap((members) => Object.keys(members ?? {}))
  return new Set(slugs.filter((slug) => !KNOWN_FIELDS.has(slug)))
}

/** Sets the traits that these operations give a user without traits, where none is set (docs/spec/decisions.md, Import). */
export function fillIn(traits: Map<string, Value>, operations: Operations): void {
  const alone = new Map<string, Value>()
  operate(alone, operations)
  for (const [slug, value] of alone) if (!traits.has(slug)) traits.set(slug, value)
}
