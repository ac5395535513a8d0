import { Instant, isStorable, Month, SlugId } from '@nextvisit/contracts'
import { z } from 'zod'
import { type ApiTable, defineRoute } from '../http/define-route.ts'

const place = { organization: SlugId, project: SlugId }

export const LimitName = z.enum(['eventsPerMonth', 'monthlyActiveUsers', 'uniqueEvents', 'uniqueTraits'])
export type LimitName = z.infer<typeof LimitName>

/** A limit and its use. */
export const LimitLine = z.strictObject({
  name: LimitName,
  /** Owner of the limit. The projects of an organization share its limit. */
  of: z.enum(['organization', 'project']),
  /** The count restarts every month. Names are kept. */
  isMonthly: z.boolean(),
  used: z.number().int(),
  /** Additions since the start of the month. */
  added: z.number().int(),
  /** null: unlimited. */
  limit: z.number().int().nullable(),
  /** `bound`: the technical limit of every project, whatever its plan. */
  setBy: z.enum(['plan', 'bound']).nullable(),
  /** Forecast at the current rate. */
  outlook: z.enum(['good', 'warning', 'reached']),
  /** The forecast in words. */
  words: z.string(),
  /** null: not within the period of the forecast. */
  reachedAt: Instant.nullable(),
})
export type LimitLine = z.infer<typeof LimitLine>

export const ProjectUsage = z.strictObject({
  at: Instant,
  month: Month,
  /** First instant of the next month. */
  monthEndsAt: Instant,
  /** Elapsed share of the month, 0 to 1. */
  elapsed: z.number(),
  limits: z.array(LimitLine),
})
export type ProjectUsage = z.infer<typeof ProjectUsage>

export const NameKind = z.enum(['traits', 'events'])
export type NameKind = z.infer<typeof NameKind>

const NOT_STORABLE = 'must hold no U+0000 or lone surrogate'

export const NamesQuery = z.strictObject({
  ...place,
  kind: NameKind,
  /** Prefix of the names: in any spelling for events, exact for traits. */
  prefix: z.string().max(100).refine(isStorable, NOT_STORABLE).default(''),
  /** `next` of the previous page. */
  after: z.string().max(300).refine(isStorable, NOT_STORABLE).optional(),
})

/** A trait or event that records contain or the workspace file declares. */
export const NameLine = z.strictObject({
  slug: z.string(),
  /** Spelling of the earliest record; null: no record contains it. */
  name: z.string().nullable(),
  isDisabled: z.boolean(),
  isDeclared: z.boolean(),
  firstSeenAt: Instant.nullable(),
  lastSeenAt: Instant.nullable(),
  count: z.number().int(),
})
export type NameLine = z.infer<typeof NameLine>

export const NamesPage = z.strictObject({ names: z.array(NameLine), next: z.string().nullable() })
export type NamesPage = z.infer<typeof NamesPage>

export const registryApi = {
  // Before listNames, whose path also matches: the first match answers.
  readUsage: defineRoute({ role: 'viewer', input: z.strictObject(place), answer: ProjectUsage }),
  listNames: defineRoute({ role: 'viewer', input: NamesQuery, answer: NamesPage }),
} satisfies ApiTable
