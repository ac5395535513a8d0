import type { z } from 'zod'
import { isDeeperThan, MAX_LEVELS } from './nesting.ts'

/** Maximum number of issues of one parse. Each takes about 500 bytes, and zod reports every invalid item of a list. */
const MAX_ISSUES = 50_000

/** The message of V8's RangeError. */
const STACK_OVERFLOW = 'Maximum call stack size exceeded'

type Parsed<Value> =
  | { readonly success: true; readonly data: Value }
  | { readonly success: false; readonly issues: readonly z.core.$ZodIssue[] }

class TooManyIssuesError extends Error {
  override readonly name = 'TooManyIssuesError'
}

/**
 * Parses as `safeParse`, but ends with one issue for an input that has very many: a list of half a million invalid items would
 * fill the memory of a process, or overflow the stack of zod. It still takes seconds for such a list, so the lists of records
 * report their first invalid item only (`records/first-issue.ts`).
 */
export function parseWithin<Value>(schema: z.ZodType<Value>, input: unknown, maxIssues = MAX_ISSUES): Parsed<Value> {
  let issues = 0
  const count = (): undefined => {
    issues += 1
    if (issues > maxIssues) throw new TooManyIssuesError()
  }
  try {
    const parsed = schema.safeParse(input, { error: count })
    return parsed.success ? parsed : { success: false, issues: parsed.error.issues }
  } catch (error) {
    const isOverflow = error instanceof RangeError && error.message === STACK_OVERFLOW
    if (!isOverflow && !(error instanceof TooManyIssuesError)) throw error
    // zod overflows the stack for more than about 100,000 issues of one list, and for a deep input of a recursive schema.
    const isDeep = isOverflow && isDeeperThan(input, MAX_LEVELS)
    const message = isDeep ? `is nested deeper than ${MAX_LEVELS} levels` : 'has too many faults'
    return { success: false, issues: [{ code: 'custom', path: [], message }] }
  }
}
