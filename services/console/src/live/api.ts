import { Instant, SlugId, Uuid } from '@nextvisit/contracts'
import { z } from 'zod'
import { type ApiTable, defineRoute } from '../http/define-route.ts'

/** Filter of Live by outcome. */
export const LiveOutcome = z.enum(['recorded', 'queued', 'delivered', 'ended', 'refused'])
export type LiveOutcome = z.infer<typeof LiveOutcome>

const LiveQuery = z.strictObject({
  /** Both, or neither for every project. */
  organization: SlugId.optional(),
  project: SlugId.optional(),
  /** Name of an event in any spelling. */
  event: z.string().max(100).default(''),
  outcome: LiveOutcome.optional(),
  /** `cursor` of the previous answer: only newer entries are returned. */
  after: z
    .string()
    .regex(/^\d{1,16}(\.\d{1,16}){2}$/)
    .optional(),
})

/** A fact that every consumer has folded, an event of a form, or a refusal. */
export const LiveEntry = z.strictObject({
  id: z.string(),
  at: Instant,
  kind: z.enum(['identify', 'event', 'visit', 'offered', 'queued', 'delivered', 'expired', 'cancelled', 'refused']),
  organization: SlugId,
  project: SlugId,
  /** null: the request was refused before it named a user. */
  userId: Uuid.nullable(),
  /** May be masked. null: no recent fact contains it. */
  userName: z.string().nullable(),
  title: z.string(),
  /** Remarks such as `unchecked: mau`. */
  marks: z.array(z.string()),
  /** Of a refusal: the reason, and the request. */
  refusal: z
    .strictObject({ reason: z.string(), status: z.number().int(), route: z.string(), key: z.string() })
    .nullable(),
  requestId: Uuid.nullable(),
})
export type LiveEntry = z.infer<typeof LiveEntry>

export const LiveAnswer = z.strictObject({
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
})
export type LiveAnswer = z.infer<typeof LiveAnswer>

export const liveApi = {
  readLive: defineRoute({ role: 'viewer', input: LiveQuery, answer: LiveAnswer }),
} satisfies ApiTable
