import { Instant, OperatorChangeActor, OperatorChangeDetails, OperatorChangeKind, SlugId } from '@nextvisit/contracts'
import { z } from 'zod'
import { defineRoute } from '../http/define-route.ts'
import { MAX_SEARCH_CHARACTERS } from '../shared-with-pages.ts'

const ChangeLine = z.strictObject({
  changeId: z.string(),
  requestedAt: Instant,
  /** null: not known. */
  endedAt: Instant.nullable(),
  /** `begun`: it is being made, or the process ended before it could tell. */
  outcome: z.enum(['begun', 'made', 'refused', 'failed']),
  reason: z.string().nullable(),
  kind: OperatorChangeKind,
  actor: OperatorChangeActor,
  organization: z.string().nullable(),
  project: z.string().nullable(),
  target: z.string().nullable(),
  details: OperatorChangeDetails,
  /** The difference of an applied file. */
  lines: z.array(z.string()),
  moreLines: z.number().int(),
})
export type ChangeLine = z.infer<typeof ChangeLine>

export const changesApi = {
  /** Lists changes of operators, newest first. */
  listChanges: defineRoute({
    role: 'viewer',
    input: z.strictObject({
      kind: OperatorChangeKind.optional(),
      /** A part of the name. */
      actor: z.string().max(MAX_SEARCH_CHARACTERS).optional(),
      organization: SlugId.optional(),
      project: SlugId.optional(),
      before: z
        .string()
        .regex(/^\d{1,18}$/)
        .optional(),
    }),
    answer: z.strictObject({
      changes: z.array(ChangeLine),
      /** `before` of the next page; null: there are no older changes. */
      older: z.string().nullable(),
      lookedBackTo: Instant.nullable(),
      /** Number of records that a later version has written, or that are damaged. */
      unreadable: z.number().int(),
    }),
  }),
}
