import { Instant } from '@nextvisit/contracts'
import { z } from 'zod'
import { defineRoute } from '../http/define-route.ts'

const RevisionLine = z.strictObject({
  organization: z.string(),
  /** null: not readable. */
  revision: z.number().int().nullable(),
  appliedAt: Instant,
  /** null: not recorded. */
  appliedBy: z.string().nullable(),
  /** `late`: an earlier record has the same revision, so this one has no effect. */
  outcome: z.enum(['counts', 'late', 'not-understood']),
  problem: z.string().nullable(),
  /** Revision that the changes are relative to. 0: this is the first one. null: the log no longer has the one before. */
  comparedWith: z.number().int().nullable(),
  changes: z.array(z.strictObject({ sign: z.enum(['+', '~', '-']), where: z.string(), what: z.string() })),
  moreChanges: z.number().int(),
})
export type RevisionLine = z.infer<typeof RevisionLine>

export const catalogApi = {
  listRevisions: defineRoute({
    role: 'viewer',
    input: z.strictObject({ organization: z.string().optional() }),
    answer: z.strictObject({
      /** With the revision in effect. */
      organizations: z.array(
        z.strictObject({ organization: z.string(), revision: z.number().int(), isRemoved: z.boolean() }),
      ),
      /** Warnings about projects in effect, such as those whose pages anyone can imitate. */
      warnings: z.array(z.string()),
      /** Latest first, a bounded number. */
      revisions: z.array(RevisionLine),
      /** The log has older revisions, which are not returned. */
      isCut: z.boolean(),
      /** The revisions that running processes have read, as `metering.1f2e…`; null: Kafka did not answer in time. */
      views: z
        .strictObject({
          current: z.array(z.string()),
          lagging: z.array(z.string()),
          silent: z.array(z.string()),
          problems: z.array(z.string()),
        })
        .nullable(),
    }),
  }),
}
