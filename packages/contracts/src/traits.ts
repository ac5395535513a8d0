import { z } from 'zod'

export type TraitScalar = string | number | boolean | null
export type TraitValue = TraitScalar | readonly TraitScalar[]

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])
export const TraitValue: z.ZodType<TraitValue> = z.union([scalar, z.array(scalar)])

/**
 * An object whose keys are a customer's own words and may include `__proto__`. `z.record` drops that key silently. So
 * this schema checks only the values and passes the parsed object on, which keeps an own property `__proto__`.
 */
export function slugMap<T>(value: z.ZodType<T>): z.ZodType<Readonly<Record<string, T>>> {
  const isSlugMap = (input: unknown): boolean =>
    typeof input === 'object' &&
    input !== null &&
    !Array.isArray(input) &&
    Object.values(input).every((member) => value.safeParse(member).success)
  const { $schema: _dialect, ...members } = z.toJSONSchema(value)
  return z
    .custom<Readonly<Record<string, T>>>(isSlugMap, { message: 'must be an object of slugs' })
    .meta({ type: 'object', additionalProperties: members })
}

/**
 * The trait operations of one request as admitted, applied in this order: set, setOnce, increment, decrement, unset
 * (decisions.md, Identify). Absent members are empty.
 */
export const TraitOperations = z.object({
  set: slugMap(TraitValue).optional().describe('Traits that are overwritten.'),
  setOnce: slugMap(TraitValue)
    .optional()
    .describe('Traits that are set unless they are set already; `null` counts as set.'),
  increment: slugMap(z.number())
    .optional()
    .describe('Amounts that are added; an unset trait starts at 0, and a trait that is not a number stays.'),
  decrement: slugMap(z.number()).optional().describe('Amounts that are subtracted, by the same rules.'),
  unset: z.array(z.string()).optional().describe('Traits that are removed.'),
})
export type TraitOperations = z.infer<typeof TraitOperations>
