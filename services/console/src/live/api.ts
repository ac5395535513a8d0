import { Instant, SlugId, Uuid } from '@nextvisit/contracts'
import { z } from 'zod'

/** What Live may be narrowed down to. */
export const LiveOutcome = z.enum(['recorded', 'queued', 'delivered', 'ended', 'refused'])
export type LiveOutcome = z.infer<typeof LiveOutcome>

export const LiveQuery = z.strictObject({
  /** Both, or neither: every project. */
  organization: SlugId.optional(),
  project: SlugId.optional(),
  /** An event's name in any spelling. */
  event: z.string().max(100).default(''),
  outcome: LiveOutcome.optional(),
  /** `cursor` of the answer before: only what came since. */
  after: z
    .string()
    .regex(/^\d{1,16}(\.\d{1,16}){2}$/)
    .optional(),
})
export type LiveQuery = z.infer<typeof LiveQuery>

/** A fact that every consumer has folded, a decision of the evaluator, or a refusal. */
export const LiveEntry = z.strictObject({
  id: z.string(),
  at: Instant,
  kind: z.enum(['identify', 'event', 'visit', 'offered', 'queued', 'delivered', 'expired', 'cancelled', 'refused']),
  organization: SlugId,
  project: SlugId,
  /** null: a request that was refused before it named a user. */
  userId: Uuid.nullable(),
  /** null: no fact of late has told it. May be masked. */
  userName: z.string().nullable(),
  title: z.string(),
  /** What is special about it, such as `unchecked: mau`. */
  marks: z.array(z.string()),
  /** Of a refusal: the name of the rule, and what was asked. */
  refusal: z
    .strictObject({ reason: z.string(), status: z.number().int(), route: z.string(), key: z.string() })
    .nullable(),
  requestId: Uuid.nullable(),
})
export type LiveEntry = z.infer<typeof LiveEntry>

export const LiveAnswer = z.strictObject({
  /** null while the feed starts: what happened before it is no news that a page could miss. */
  cursor: z.string().nullable(),
  /** `starting`: the newest part of the log is being read. `no-log`: Kafka does not answer. */
  state: z.enum(['starting', 'follows', 'no-log']),
  /** The newest first. */
  entries: z.array(LiveEntry),
  /** How many came since `after` that are not shown, as there were too many. */
  skipped: z.number().int(),
  /** The consumer that is furthest behind, if one is late: what it has not folded is not shown yet. */
  behind: z.strictObject({ service: z.string(), records: z.number().int(), seconds: z.number() }).nullable(),
  /** Consumers of which a process does not answer: nothing newer counts as folded in its partitions. */
  silent: z.array(z.strictObject({ service: z.string(), processes: z.number().int(), silent: z.number().int() })),
  /** `too-many-projects`: they are read of one project at a time, or of few. */
  refusals: z.enum(['read', 'no-answer', 'too-many-projects']),
})
export type LiveAnswer = z.infer<typeof LiveAnswer>
