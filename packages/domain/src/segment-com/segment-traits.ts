import { PII_FIELDS, type TraitValue } from '@nextvisit/contracts'
import { BODY_LIMITS } from '../bodies/body-rules.ts'
import type { FieldPolicy } from '../bodies/choose-fields.ts'
import { isLongerThan } from '../bodies/is-longer-than.ts'
import { isJsonObject } from '../bodies/json-object.ts'
import { brokenByValue } from '../traits/trait-changes.ts'

const personalFields: ReadonlySet<string> = new Set(PII_FIELDS)

export interface SegmentTraits {
  /** Own properties of every name, `__proto__` too. */
  readonly $set: Readonly<Record<string, TraitValue>>
  /** How many values no trait can hold, and how many names no trait can have. */
  readonly dropped: number
}

/**
 * `traits` with nested objects flattened: `{ company: { plan: 'pro' } }` is the trait `company.plan`. A personal field that
 * the project does not keep is left out with everything in it, and so is a name that is too long: no name that is put
 * together here grows longer. Of more traits than one identify may have, so many are read that it is refused. `traits` must
 * not be deep: each level is a call.
 */
export function traitsOf(traits: unknown, { allowedFields }: Pick<FieldPolicy, 'allowedFields'>): SegmentTraits {
  const set = new Map<string, TraitValue>()
  let dropped = 0
  const read = (slug: string, value: unknown) => {
    if (set.size > BODY_LIMITS.traitOperations) return
    if (isLongerThan(slug, BODY_LIMITS.traitKeyLength)) dropped += 1
    else if (isJsonObject(value)) {
      if (personalFields.has(slug) && !allowedFields.has(slug)) dropped += 1
      else for (const [name, inner] of Object.entries(value)) read(`${slug}.${name}`, inner)
    } else if (slug === '' || brokenByValue(value)) dropped += 1
    else set.set(slug, value as TraitValue)
  }
  if (isJsonObject(traits)) for (const [name, value] of Object.entries(traits)) read(name, value)
  return { $set: Object.fromEntries(set), dropped }
}
