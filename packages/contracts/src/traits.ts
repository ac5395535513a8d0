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
  return z.custom<Readonly<Record<string, T>>>(
    (input) =>
      typeof input === 'object' &&
      input !== null &&
      !Array.isArray(input) &&
      Object.values(input).every((member) => value.safeParse(member).success),
    { message: 'must be an object of slugs' },
  )
}

/**
 * The trait operations of one request as admitted, applied in this order: set, setOnce, increment, decrement, unset
 * (decisions.md, Identify). Absent members are empty.
 */
export const TraitOperations = z.object({
  set: slugMap(TraitValue).optional(),
  setOnce: slugMap(TraitValue).optional(),
  increment: slugMap(z.number()).optional(),
  decrement: slugMap(z.number()).optional(),
  unset: z.array(z.string()).optional(),
})
export type TraitOperations = z.infer<typeof TraitOperations>
