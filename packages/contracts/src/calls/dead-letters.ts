import { z } from 'zod'
import { Instant } from '../primitives.ts'
import { isStorable } from '../records/record-codec.ts'
import { type CallTable, defineCall } from './define-call.ts'

/** Offsets and ids have 64 bits and travel as strings. */
const Whole = z.string().regex(/^\d{1,18}$/, 'must be a whole number')
const CauseId = z.string().regex(/^c[0-9a-f]{1,16}$/, 'must be the id of a cause')
/** Name of the operator. The dead letters store it. */
const By = z.string().min(1).max(200).refine(isStorable, 'must not contain U+0000 or lone surrogates')
const count = z.number().int()
const pageSize = z.number().int().min(1).max(200)

/** Dead letters of a service with the same cause. */
export const DeadLetterGroup = z.object({
  cause: z.string(),
  /** Names the cause where its text must not be shown, because it may quote personal data. */
  causeId: CauseId,
  dead: count,
  toRetry: count,
  retried: count,
  discarded: count,
  /** Kafka's times of the oldest and of the newest record. */
  oldest: Instant,
  newest: Instant,
  /** The id of the oldest, for `nextvisit dead-letters show`. */
  example: z.string(),
  /** The greatest id. Later dead letters have greater ones. */
  lastId: Whole,
})
export type DeadLetterGroup = z.infer<typeof DeadLetterGroup>

const DeadLetterState = z.enum(['dead', 'retry', 'retried', 'discarded'])
type DeadLetterState = z.infer<typeof DeadLetterState>

/** Position of a record in the log. */
export const LogPosition = z.object({ topic: z.string().min(1).max(249), partition: count.min(0), offset: Whole })
export type LogPosition = z.infer<typeof LogPosition>

/** A record that a service could not parse or fold, without its content. */
export const DeadLetter = z.object({
  id: Whole,
  state: DeadLetterState,
  cause: z.string(),
  causeId: CauseId,
  topic: z.string(),
  partition: count,
  offset: Whole,
  recordTime: Instant,
  deadAt: Instant,
  /** Version of the consumer that last tried the record. */
  serviceVersion: z.string(),
  /** The operator who last retried or discarded it, and the time. */
  decidedBy: z.string().nullable(),
  decidedAt: Instant.nullable(),
  /** null: the record has no value. */
  valueBytes: count.nullable(),
})
export type DeadLetter = z.infer<typeof DeadLetter>

/** Bytes in readable form. */
const ShownText = z.object({
  /** `hex`: the bytes are not UTF-8. */
  form: z.enum(['json', 'text', 'hex']),
  text: z.string(),
  /** `text` is only the beginning. */
  isCut: z.boolean(),
})
export type ShownText = z.infer<typeof ShownText>

/** Content of a record; may be personal data. */
const RecordContent = z.object({
  key: ShownText.nullable(),
  headers: z.array(z.object({ name: z.string(), value: z.string() })),
  value: ShownText.nullable(),
})
export type RecordContent = z.infer<typeof RecordContent>

/** Position in the list of decided dead letters. */
const DecidedPosition = z.object({ decidedAt: Instant, id: Whole })
type DecidedPosition = z.infer<typeof DecidedPosition>

/** Maximum number of dead letters in one decision. */
export const MAX_DECIDED_DEAD_LETTERS = 10_000

/** Selects dead letters that the operator has seen. */
export const SeenDeadLetters = z.discriminatedUnion('by', [
  z.object({ by: z.literal('ids'), ids: z.array(Whole).min(1).max(MAX_DECIDED_DEAD_LETTERS) }),
  /** The letters of these records. The same question goes to every consumer. */
  z.object({ by: z.literal('records'), records: z.array(LogPosition).min(1).max(MAX_DECIDED_DEAD_LETTERS) }),
  /** Only ids up to `lastId`. */
  z.object({ by: z.literal('causeId'), causeId: CauseId, lastId: Whole }),
])
export type SeenDeadLetters = z.infer<typeof SeenDeadLetters>

/** Selects dead letters of a service. */
const DeadLetterSelection = z.discriminatedUnion('by', [
  ...SeenDeadLetters.options,
  z.object({ by: z.literal('cause'), cause: z.string() }),
  z.object({ by: z.literal('all') }),
])
export type DeadLetterSelection = z.infer<typeof DeadLetterSelection>

/** `retry`: fold them again, late. `discard`: never fold them. */
export const DeadLetterDecision = z.enum(['retry', 'discard'])
export type DeadLetterDecision = z.infer<typeof DeadLetterDecision>

/**
 * Served by every consumer, and by the CLI in process. Each process answers for the whole service: the dead letters are in
 * its schema.
 */
export const deadLetterCalls = {
  /** Groups dead letters by cause, the largest group first. Without `withSettled`: only states `dead` and `retry`. */
  readCauses: defineCall({
    path: '/internal/dead-letters/causes/read',
    question: z.object({
      withSettled: z.boolean().default(false),
      limit: z.number().int().min(1).max(10_000).default(200),
    }),
    answer: z.object({ groups: z.array(DeadLetterGroup) }),
  }),
  /**
   * Lists the dead letters in the states `dead` and `retry`, of one cause or of all, oldest first. `after`: last id of the
   * previous page.
   */
  list: defineCall({
    path: '/internal/dead-letters/list',
    question: z.object({ causeId: CauseId.optional(), after: Whole.default('0'), limit: pageSize }),
    answer: z.object({ letters: z.array(DeadLetter), next: Whole.nullable() }),
  }),
  /** Lists decided dead letters, the latest decision first. `after`: the last position of the previous page. */
  listDecided: defineCall({
    path: '/internal/dead-letters/decided/list',
    question: z.object({ after: DecidedPosition.optional(), limit: pageSize }),
    answer: z.object({ letters: z.array(DeadLetter), next: DecidedPosition.nullable() }),
  }),
  /** Reads a dead letter. `content` is null for `none`. `bounded` cuts long values and headers; `headers` is `whole` without the value. */
  read: defineCall({
    path: '/internal/dead-letters/read',
    question: z.object({ id: Whole, content: z.enum(['none', 'headers', 'bounded', 'whole']) }),
    answer: DeadLetter.extend({ content: RecordContent.nullable() }),
  }),
  /** Finds the service's dead letter of one record; null: it has none. */
  readAt: defineCall({
    path: '/internal/dead-letters/at/read',
    question: LogPosition,
    answer: z.object({ letter: DeadLetter.nullable() }),
  }),
  /** Lists the dead letters of records with this Kafka key, in any state, oldest first. `after`: last id of the previous page. */
  listOfKey: defineCall({
    path: '/internal/dead-letters/of-key/list',
    question: z.object({ key: z.string().min(1).max(1_000), after: Whole.default('0'), limit: pageSize }),
    answer: z.object({ letters: z.array(DeadLetter), next: Whole.nullable() }),
  }),
  /** Counts the selected dead letters in state `dead`, and lists ids and records without a letter. Changes nothing. */
  preview: defineCall({
    path: '/internal/dead-letters/preview',
    question: z.object({ selected: DeadLetterSelection }),
    answer: z.object({ dead: count, missingIds: z.array(Whole), missingRecords: z.array(LogPosition) }),
  }),
  /** Decides the selected dead letters in state `dead`: the oldest {@link MAX_DECIDED_DEAD_LETTERS}. */
  decide: defineCall({
    path: '/internal/dead-letters/decide',
    question: z.object({
      selected: DeadLetterSelection,
      decision: DeadLetterDecision,
      by: By,
      /** Continues the decision of this instant, whose answer was full. */
      continues: Instant.nullable().default(null),
    }),
    answer: z.object({
      count,
      /** Identifies the decision; null: no selected dead letter was in state `dead`. */
      decidedAt: Instant.nullable(),
      /** True if more selected dead letters may remain. */
      isFull: z.boolean(),
    }),
  }),
  /** Counts the dead letters of a decision by their present state. `deadAgain`: the most frequent causes of the dead ones. */
  readDecision: defineCall({
    path: '/internal/dead-letters/decisions/read',
    question: z.object({ decidedAt: Instant }),
    answer: z.object({
      retry: count,
      retried: count,
      dead: count,
      discarded: count,
      deadAgain: z.array(DeadLetterGroup.pick({ cause: true, causeId: true }).extend({ count })),
    }),
  }),
  /** Makes the record that halts a partition a dead letter. Repeating the call changes nothing. */
  setAside: defineCall({
    path: '/internal/halts/set-aside',
    question: LogPosition.extend({ by: By }),
    answer: z.discriminatedUnion('outcome', [
      /** The partition's owner does it in its next commit. */
      z.object({ outcome: z.literal('asked') }),
      z.object({ outcome: z.literal('dead-letter'), id: Whole }),
      /** Nothing was done; `reason` is a sentence. `isBefore`: the checkpoint has not passed the offset. */
      z.object({ outcome: z.literal('refused'), reason: z.string(), isBefore: z.literal(true).optional() }),
    ]),
  }),
} satisfies CallTable
