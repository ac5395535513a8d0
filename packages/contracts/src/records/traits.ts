import { z } from 'zod'
import { textList } from './first-issue.ts'

export type TraitScalar = string | number | boolean | null
export type TraitValue = TraitScalar | readonly TraitScalar[]

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])
/** The schema of a value. Check many values with {@link isTraitValue}: this schema is several times slower than JSON.parse. */
export const TraitValue: z.ZodType<TraitValue> = z.union([scalar, z.array(scalar)])

export function isTraitValue(input: unknown): input is TraitValue {
  return Array.isArray(input) ? input.every(isTraitScalar) : isTraitScalar(input)
}

export function isTraitScalar(input: unknown): input is TraitScalar {
  return isNumber(input) || input === null || typeof input === 'string' || typeof input === 'boolean'
}

/** JSON.parse reads `1e999` as Infinity, which JSON cannot express. */
function isNumber(input: unknown): input is number {
  return typeof input === 'number' && Number.isFinite(input)
}

/** Creates the schema of an object of trait values by slug, which may have 100,000 scalars. */
export const traitMap = () => slugMap(TraitValue, isTraitValue)

/**
 * Creates the schema of an object whose keys are a customer's own words, `__proto__` included. `z.record` drops that key
 * silently. This schema therefore checks the values and returns the same object. `isValue` must accept the same values as
 * `value`, which only describes them: a call of zod per value is too slow for objects that callers fill.
 */
export function slugMap<T>(
  value: z.ZodType<T>,
  isValue: (input: unknown) => input is T,
): z.ZodType<Readonly<Record<string, T>>> {
  const { $schema: _dialect, ...members } = z.toJSONSchema(value)
  return z
    .custom<Readonly<Record<string, T>>>()
    .check(({ value: input, issues }) => {
      if (typeof input !== 'object' || input === null || Array.isArray(input)) {
        issues.push({ code: 'custom', input, message: 'must be an object of slugs' })
        return
      }
      for (const [slug, member] of Object.entries(input)) {
        if (isValue(member)) continue
        issues.push({ code: 'custom', input: member, path: [slug], message: 'is no value that a slug may have' })
        return
      }
    })
    .meta({ type: 'object', additionalProperties: members })
}

/**
 * The admitted trait operations of one request, applied in the order of these members (decisions.md, Identify). Absent
 * members are empty.
 */
export const TraitOperations = z.object({
  set: traitMap().optional().describe('Traits to overwrite.'),
  setOnce: traitMap().optional().describe('Traits to set if they are unset; `null` counts as set.'),
  increment: slugMap(z.number(), isNumber)
    .optional()
    .describe('Amounts to add; an unset trait starts at 0, and a trait that is not a number is unchanged.'),
  decrement: slugMap(z.number(), isNumber).optional().describe('Amounts to subtract, by the same rules.'),
  unset: textList().optional().describe('Traits to remove.'),
})
export type TraitOperations = z.infer<typeof TraitOperations>
