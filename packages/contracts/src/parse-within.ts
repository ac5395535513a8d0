import type { z } from 'zod'

/** Maximum number of issues of one parse. Each takes about 500 bytes, and zod reports every invalid item of a list. */
const MAX_ISSUES = 50_000

/** Message of the one issue of an input with more than are reported. */
const TOO_MANY = 'has too many faults'

type Parsed<Value> =
  | { readonly success: true; readonly data: Value }
  | { readonly success: false; readonly issues: readonly z.core.$ZodIssue[] }

/**
 * Parses as `safeParse`, but ends with one issue for an input that has very many: a list of half a million invalid items would
 * fill the memory of a process, or overflow the stack of zod.
 */
export function parseWithin<Value>(schema: z.ZodType<Value>, input: unknown, maxIssues = MAX_ISSUES): Parsed<Value> {
  let issues = 0
  const count = (): undefined => {
    issues += 1
    if (issues > maxIssues) throw new RangeError(TOO_MANY)
  }
  try {
    const parsed = schema.safeParse(input, { error: count })
    return parsed.success ? parsed : { success: false, issues: parsed.error.issues }
  } catch (error) {
    // zod itself throws it for more than about 100,000 issues of one list.
    if (error instanceof RangeError)
      return { success: false, issues: [{ code: 'custom', path: [], message: TOO_MANY }] }
    throw error
  }
}
