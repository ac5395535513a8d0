import { Instant, isStorable, Month, PLAN_LIMITS, projectFields } from '@nextvisit/contracts'
import { z } from 'zod'
import { defineRoute } from '../http/define-route.ts'
import { MAX_SEARCH_CHARACTERS, NAME_KINDS } from '../shared-with-pages.ts'

/** A limit and its use. */
const LimitLine = z.strictObject({
  name: z.enum(PLAN_LIMITS.map(({ name }) => name)),
  title: z.string(),
  /** Subject of the limit. The projects of an organization share its limit. */
  of: z.enum(['organization', 'project']),
  /** The count restarts every month. Names are kept. */
  isMonthly: z.boolean(),
  used: z.number().int(),
  /** Additions since the start of the month. */
  added: z.number().int(),
  /** null: unlimited. */
  limit: z.number().int().nullable(),
  /** `bound`: the technical limit of every project, under any plan. */
  setBy: z.enum(['plan', 'bound']).nullable(),
  /** Forecast at the current rate. */
  outlook: z.enum(['good', 'warning', 'reached']),
  /** The forecast in words. */
  words: z.string(),
  /** null: not within the period of the forecast. */
  reachedAt: Instant.nullable(),
})
export type LimitLine = z.infer<typeof LimitLine>

/** A trait or event that records contain or the workspace file declares. */
const NameLine = z.strictObject({
  slug: z.string(),
  /** Spelling of the earliest record; null: no record contains it. */
  name: z.string().nullable(),
  isDisabled: z.boolean(),
  isDeclared: z.boolean(),
  firstSeenAt: Instant.nullable(),
  lastSeenAt: Instant.nullable(),
  count: z.number().int(),
})

const storable = (text: z.ZodString) => text.refine(isStorable, 'must not contain U+0000 or lone surrogates')

export const registryApi = {
  // Before listNames, whose path also matches: the first match answers.
  readUsage: defineRoute({
    role: 'viewer',
    input: z.strictObject(projectFields),
    answer: z.strictObject({
      at: Instant,
      month: Month,
      /** First instant of the next month. */
      monthEndsAt: Instant,
      /** Elapsed share of the month, 0 to 1. */
      elapsed: z.number(),
      limits: z.array(LimitLine),
      /** The counters may lack the latest records, because metering lags. */
      isStale: z.boolean(),
    }),
  }),
  listNames: defineRoute({
    role: 'viewer',
    input: z.strictObject({
      ...projectFields,
      kind: z.enum(NAME_KINDS),
      /** Prefix of the names: in any spelling for events, exact for traits. */
      prefix: storable(z.string().max(MAX_SEARCH_CHARACTERS)).default(''),
      /** `next` of the previous page. */
      after: storable(z.string().max(300)).optional(),
    }),
    answer: z.strictObject({ names: z.array(NameLine), next: z.string().nullable() }),
  }),
}
