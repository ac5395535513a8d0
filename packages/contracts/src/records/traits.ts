import { z } from 'zod'

export type TraitScalar = string | number | boolean | null
export type TraitValue = TraitScalar | readonly TraitScalar[]

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])
/** Describes a value. Many values are checked by {@link isTraitValue}: this schema takes several times as long as JSON's parser. */
export const TraitValue: z.ZodType<TraitValue> = z.union([scalar, z.array(scalar)])

export function isTraitValue(input: unknown): input is TraitValue {
  return Array.isArray(input) ? input.every(isTraitScalar) : isTraitScalar(input)
}

export function isTraitScalar(input: unknown): input is TraitScalar {
  return isNumber(input) || input === null || typeof input === 'string' || typeof input === 'boolean'
}

/** JSON can say `1e999`, which is read as Infinity and has no place in JSON again. */
function isNumber(input: unknown): input is number {
  return typeof input === 'number' && Number.isFinite(input)
}

/** An object of trait values by slug, as a record or a read model has it: up to 100,000 scalars. */
export const traitMap = () => slugMap(TraitValue, isTraitValue)

/**
 * An object whose keys are a customer's own words and may include `__proto__`. `z.record` drops that key silently. So
 * this schema checks only the values and passes the parsed object on, which keeps an own property `__proto__`.
 * `isValue` says the same as `value`, which describes it: a call of zod for each value is too slow for objects that callers fill.
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
 * The trait operations of one request as admitted, applied in this order: set, setOnce, increment, decrement, unset
 * (decisions.md, Identify). Absent members are empty.
 */
export const TraitOperations = z.object({
  set: traitMap().optional().describe('Traits to overwrite.'),
  setOnce: traitMap().optional().describe('Traits to set if they are unset; `null` counts as set.'),
  increment: slugMap(z.number(), isNumber)
    .optional()
    .describe('Amounts to add; an unset trait starts at 0, and a trait that is not a number is unchanged.'),
  decrement: slugMap(z.number(), isNumber).optional().describe('Amounts to subtract, by the same rules.'),
  unset: z.array(z.string()).optional().describe('Traits to remove.'),
})
export type TraitOperations = z.infer<typeof TraitOperations>
