import { projectFields, SlugId, Uuid } from '@nextvisit/contracts'
import { z } from 'zod'
import { defineRoute } from '../http/define-route.ts'
import { LIVE_OUTCOMES, MAX_SEARCH_CHARACTERS } from '../shared-with-pages.ts'
import { TimelineEntry } from '../users/api.ts'

/** A fact that every consumer has folded, an event of a form, or a refusal. */
const LiveEntry = TimelineEntry.omit({ details: true, moreDetails: true, isErased: true }).extend({
  kind: TimelineEntry.shape.kind.exclude(['decision']),
  ...projectFields,
  /** null: the request was refused before it named a user. */
  userId: Uuid.nullable(),
  /** May be masked. null: the user is not identified, or erased, or the user projector does not answer. */
  userName: z.string().nullable(),
  /** Remarks such as `unchecked: mau`. */
  marks: z.array(z.string()),
  /** Of a refusal: the reason, and the request. */
  refusal: z
    .strictObject({ reason: z.string(), status: z.number().int(), route: z.string(), key: z.string() })
    .nullable(),
})
export type LiveEntry = z.infer<typeof LiveEntry>

export const liveApi = {
  readLive: defineRoute({
    role: 'viewer',
    input: z.strictObject({
      /** Both, or neither for every project. */
      organization: SlugId.optional(),
      project: SlugId.optional(),
      /** Name of an event in any spelling. */
      event: z.string().max(MAX_SEARCH_CHARACTERS).default(''),
      outcome: z.enum(LIVE_OUTCOMES).optional(),
      /** `cursor` of the previous answer: only newer entries are returned. */
      after: z
        .string()
        .regex(/^\d{1,16}(\.\d{1,16}){2}$/)
        .optional(),
    }),
    answer: z.strictObject({
      /** null while the feed starts: a page cannot miss entries from before. */
      cursor: z.string().nullable(),
      /** `starting`: the newest part of the log is being read. `no-log`: Kafka does not answer. */
      state: z.enum(['starting', 'follows', 'no-log']),
      /** Newest first. */
      entries: z.array(LiveEntry),
      /** Number of entries since `after` that were too many to return. */
      skipped: z.number().int(),
      /** The consumer with the largest lag, if it is late. Records that it has not folded are not returned yet. */
      behind: z.strictObject({ service: z.string(), records: z.number().int(), seconds: z.number() }).nullable(),
      /** Consumers with a process that does not answer. In its partitions no newer record counts as folded. */
      silent: z.array(z.strictObject({ service: z.string(), processes: z.number().int(), silent: z.number().int() })),
      /** `too-many-projects`: refusals are read of few projects at a time. */
      refusals: z.enum(['read', 'no-answer', 'too-many-projects']),
    }),
  }),
}
