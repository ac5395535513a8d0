import { Instant } from '@nextvisit/contracts'
import { z } from 'zod'

export const CatalogQuery = z.strictObject({ organization: z.string().optional() })

const Change = z.strictObject({ sign: z.enum(['+', '~', '-']), where: z.string(), what: z.string() })

export const RevisionLine = z.strictObject({
  organization: z.string(),
  /** null: it cannot be read. */
  revision: z.number().int().nullable(),
  appliedAt: Instant,
  /** null: not recorded. */
  appliedBy: z.string().nullable(),
  /** `late`: another record of this revision came first, so this one counts for nothing. */
  outcome: z.enum(['counts', 'late', 'not-understood']),
  problem: z.string().nullable(),
  /** The revision that the changes are compared with. 0: it is the first one. null: the log no longer has the one before. */
  comparedWith: z.number().int().nullable(),
  changes: z.array(Change),
  moreChanges: z.number().int(),
})
export type RevisionLine = z.infer<typeof RevisionLine>

export const CatalogAnswer = z.strictObject({
  /** With the revision that counts now. */
  organizations: z.array(
    z.strictObject({ organization: z.string(), revision: z.number().int(), isRemoved: z.boolean() }),
  ),
  /** The latest first, a bounded number. */
  revisions: z.array(RevisionLine),
  /** Older ones are in the log, and are not shown. */
  isCut: z.boolean(),
  /** What the running processes hold, `metering.1f2e…`; null: Kafka did not say it in time. */
  views: z
    .strictObject({
      current: z.array(z.string()),
      lagging: z.array(z.string()),
      silent: z.array(z.string()),
      problems: z.array(z.string()),
    })
    .nullable(),
})
export type CatalogAnswer = z.infer<typeof CatalogAnswer>
