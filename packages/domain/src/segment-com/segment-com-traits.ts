import { BODY_LIMITS, isLongerThan, PII_FIELDS, type TraitValue } from '@nextvisit/contracts'
import type { ProjectPolicy } from '../project-policy.ts'
import { BODY_RULES } from '../bodies/body-rules.ts'
import { isJsonObject, type JsonObject } from '../bodies/json-object.ts'
import { reject, type Rejection, truncate } from '../bodies/rejection.ts'
import { checkTraitValue } from '../bodies/trait-operations-body.ts'

const personalFields: ReadonlySet<string> = new Set(PII_FIELDS)

interface SegmentComTraits {
  readonly outcome: 'ok'
  /** Every name is an own property, `__proto__` included. */
  readonly $set: Readonly<Record<string, TraitValue>>
  /** Number of values that no trait can hold, and of names that no trait can have. */
  readonly dropped: number
}

/** A member that contains traits. */
interface TraitSource {
  /** Its name in messages. */
  readonly member: string
  readonly traits: unknown
}

interface ReadSource extends Pick<TraitSource, 'member'> {
  /** Slugs of the sources before it. */
  readonly taken: ReadonlySet<string>
  /** Names of the objects in the sources before it that contained a trait: `company` of `company.plan`. */
  readonly objects: ReadonlySet<string>
}

/**
 * Flattens traits: `{ company: { plan: 'pro' } }` becomes the trait `company.plan`. A source adds only traits that those before
 * it lack: beside their `company.plan` it sets no trait `company`, and beside their `company` no `company.plan`. Drops values that no trait can hold, personal fields that the project does not keep, with everything in them, and
 * names that are too long. Rejects a number that would be rounded. Reading ends at one trait more than an identify may have,
 * which then refuses it. Recursive: the caller must have checked the depth.
 */
export function traitsOf(
  sources: readonly TraitSource[],
  { allowedFields }: Pick<ProjectPolicy, 'allowedFields'>,
): SegmentComTraits | Rejection {
  const set = new Map<string, TraitValue>()
  let dropped = 0

  const read = (slug: string, value: unknown, from: ReadSource): Rejection | undefined => {
    if (set.size > BODY_LIMITS.traitOperations || from.taken.has(slug)) return undefined
    const isFiltered = personalFields.has(slug) && !allowedFields.has(slug)
    if (isLongerThan(slug, BODY_LIMITS.traitKeyLength)) dropped += 1
    else if (isJsonObject(value) && !isFiltered) return readMembers(value, `${slug}.`, from)
    else if (from.objects.has(slug) || objectsAround(slug).some((name) => from.taken.has(name))) return undefined
    else {
      const rule = checkTraitValue(value)
      if (rule === BODY_RULES.inexactNumber) return reject(rule(`${from.member}.${truncate(slug)}`))
      if (slug === '' || rule) dropped += 1
      else set.set(slug, value as TraitValue)
    }
    return undefined
  }
  const readMembers = (members: JsonObject, prefix: string, from: ReadSource): Rejection | undefined => {
    for (const [name, value] of Object.entries(members)) {
      const rejection = read(`${prefix}${name}`, value, from)
      if (rejection) return rejection
    }
    return undefined
  }

  for (const { member, traits } of sources) {
    const taken = new Set(set.keys())
    const objects = new Set([...taken].flatMap(objectsAround))
    const rejection = isJsonObject(traits) && readMembers(traits, '', { member, taken, objects })
    if (rejection) return rejection
  }
  return { outcome: 'ok', $set: Object.fromEntries(set), dropped }
}

/** Returns the names of the objects that a trait was in: `a` and `a.b` of `a.b.c`. */
function objectsAround(slug: string): readonly string[] {
  const names: string[] = []
  for (let dot = slug.indexOf('.'); dot !== -1; dot = slug.indexOf('.', dot + 1)) names.push(slug.slice(0, dot))
  return names
}
