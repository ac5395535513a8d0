import { z } from 'zod'

/**
 * Creates the schema of a list that reports its first invalid item only. `z.array` reports each: a list of half a million in a
 * record of another program would take hundreds of megabytes, and seconds even with `parseWithin`. `isItem` must accept the
 * same items as `item`, which only describes them.
 */
export function listOf<T>(item: z.ZodType<T>, isItem: (input: unknown) => input is T): z.ZodType<T[]> {
  const { $schema: _dialect, ...items } = z.toJSONSchema(item)
  return z
    .custom<T[]>()
    .check(({ value: input, issues }) => {
      if (!Array.isArray(input)) {
        issues.push({ code: 'custom', input, message: 'must be a list' })
        return
      }
      const at = input.findIndex((one) => !isItem(one))
      if (at !== -1)
        issues.push({ code: 'custom', input: input[at] as unknown, path: [at], message: 'is no valid item' })
    })
    .meta({ type: 'array', items })
}

/** Creates the schema of a list of texts. */
export const textList = (): z.ZodType<string[]> => listOf(z.string(), (input) => typeof input === 'string')

/** Limits an object to `maxMembers` before its own schema reads it, which reports each invalid member. */
export function withFewMembers<T>(schema: z.ZodType<T>, maxMembers: number): z.ZodType<T> {
  const { $schema: _dialect, ...described } = z.toJSONSchema(schema)
  return z
    .custom<T>()
    .check(({ value: input, issues }) => {
      if (typeof input === 'object' && input !== null && Object.keys(input).length > maxMembers) {
        issues.push({ code: 'custom', input, message: `must have at most ${maxMembers} members` })
        return
      }
      for (const issue of schema.safeParse(input).error?.issues ?? []) issues.push({ ...issue, code: 'custom', input })
    })
    .meta(described)
}
