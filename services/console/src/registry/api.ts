import { Instant, isStorable, Month, SlugId } from '@nextvisit/contracts'
import { z } from 'zod'

export const ProjectPath = z.strictObject({ organization: SlugId, project: SlugId })
export type ProjectPath = z.infer<typeof ProjectPath>

export const LimitName = z.enum(['eventsPerMonth', 'monthlyActiveUsers', 'uniqueEvents', 'uniqueTraits'])
export type LimitName = z.infer<typeof LimitName>

/** One limit with its use. */
export const LimitLine = z.strictObject({
  name: LimitName,
  /** Whose it is: an organization's limit is shared by its projects. */
  of: z.enum(['organization', 'project']),
  /** Whether the count begins again with each month. Names stay. */
  isMonthly: z.boolean(),
  used: z.number().int(),
  /** What was added since the month began. */
  added: z.number().int(),
  /** null: there is none. */
  limit: z.number().int().nullable(),
  /** `bound`: what every project is held to, whatever its plan says. */
  setBy: z.enum(['plan', 'bound']).nullable(),
  /** How it looks at this rate. */
  outlook: z.enum(['good', 'warning', 'reached']),
  /** When it is reached at this rate, in words. */
  words: z.string(),
  /** null: not in the time that the words are about. */
  reachedAt: Instant.nullable(),
})
export type LimitLine = z.infer<typeof LimitLine>

export const ProjectUsage = z.strictObject({
  at: Instant,
  month: Month,
  /** The first instant of the next month. */
  monthEndsAt: Instant,
  /** How much of the month has passed, 0 to 1. */
  elapsed: z.number(),
  limits: z.array(LimitLine),
})
export type ProjectUsage = z.infer<typeof ProjectUsage>

export const NameKind = z.enum(['traits', 'events'])
export type NameKind = z.infer<typeof NameKind>

const NOT_STORABLE = 'must hold no U+0000 or lone surrogate'

export const NamesQuery = z.strictObject({
  ...ProjectPath.shape,
  kind: NameKind,
  /** Only names that begin with it: of events in any spelling, of traits exactly. */
  prefix: z.string().max(100).refine(isStorable, NOT_STORABLE).default(''),
  /** `next` of the page before. */
  after: z.string().max(300).refine(isStorable, NOT_STORABLE).optional(),
})
export type NamesQuery = z.infer<typeof NamesQuery>

/** A trait or an event that records have carried, or that the workspace file names. */
export const NameLine = z.strictObject({
  slug: z.string(),
  /** As the earliest record spells it; null: no record has carried it. */
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
