import { z } from 'zod'

export type TraitScalar = string | number | boolean | null
export type TraitValue = TraitScalar | readonly TraitScalar[]

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])
export const TraitValue: z.ZodType<TraitValue> = z.union([scalar, z.array(scalar)])

/**
 * An object whose keys are a customer's own words, `__proto__` among them. `z.record` drops that key in silence, so
 * this checks values only and hands the parsed object on: an own property `__proto__` stays one.
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
  set: slugMap(TraitValue).optional().describe('Overwritten with these.'),
  setOnce: slugMap(TraitValue).optional().describe('Set to these where they are not set; `null` is set.'),
  increment: slugMap(z.number())
    .optional()
    .describe('Raised by these; an unset trait begins at 0, one that is not a number stays.'),
  decrement: slugMap(z.number()).optional().describe('Lowered by these, likewise.'),
  unset: z.array(z.string()).optional().describe('Removed.'),
})
export type TraitOperations = z.infer<typeof TraitOperations>
