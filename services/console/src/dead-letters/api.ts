import {
  DeadLetter,
  DeadLetterAnswer,
  DeadLettersAnswer,
  DecidedAnswer,
  Decision,
  DecisionAnswer,
  Instant,
  RecordPlace,
  SelectedLetters,
  SlugId,
} from '@nextvisit/contracts'
import { z } from 'zod'
import { type ApiTable, defineRoute, Nothing } from '../http/define-route.ts'

const service = SlugId

/** `atOnce`: maximum number of letters in one decision. */
export const LettersAnswer = z.strictObject({ ...DeadLettersAnswer.shape, atOnce: z.number().int() })
export type LettersAnswer = z.infer<typeof LettersAnswer>
export type LetterLine = z.infer<typeof DeadLetter>

export const LetterPath = z.strictObject({ service, id: DeadLetter.shape.id })
export type LetterPath = z.infer<typeof LetterPath>

/** `content` is null for a viewer who has not asked for it. */
export const LetterAnswer = z.strictObject(DeadLetterAnswer.shape)
export type LetterAnswer = z.infer<typeof LetterAnswer>

/** State of one record in each consumer. `letter` is null if the consumer has none, or does not answer. */
export const LettersOfRecord = z.strictObject({
  consumers: z.array(z.strictObject({ service, isAnswering: z.boolean(), letter: DeadLetter.nullable() })),
})
export type LettersOfRecord = z.infer<typeof LettersOfRecord>

/** The last letter of the previous page: time of the decision, and id. */
const DecidedCursor = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.tuple([Instant, DeadLetter.shape.id]))
  .transform(([decidedAt, id]) => ({ decidedAt, id }))

/** `next`: `after` of the next page. */
export const DecidedLettersAnswer = z.strictObject({ letters: z.array(DeadLetter), next: z.string().nullable() })

export const Decide = z.strictObject({ service, decision: Decision, selected: SelectedLetters })
export type Decide = z.input<typeof Decide>

export const DecisionProgress = z.strictObject(DecisionAnswer.shape)
export type DecisionProgress = z.infer<typeof DecisionProgress>

export const deadLettersApi = {
  /** A page of the dead letters of one cause that wait for a decision or a retry. */
  listDeadLetters: defineRoute({
    role: 'viewer',
    input: z.strictObject({ service, causeId: DeadLetter.shape.causeId, after: DeadLetter.shape.id.optional() }),
    answer: LettersAnswer,
  }),
  readDeadLetter: defineRoute({ role: 'viewer', input: LetterPath, answer: LetterAnswer }),
  revealDeadLetter: defineRoute({
    role: 'viewer',
    input: LetterPath,
    answer: Nothing,
    logged: ({ service: consumer, id }) => ({ letter: `${consumer}/${id}` }),
  }),
  decideDeadLetters: defineRoute({
    role: 'operator',
    input: Decide,
    answer: z.strictObject(DecidedAnswer.shape),
    logged: ({ service: consumer, decision, selected }) => ({
      service: consumer,
      decision,
      letters:
        selected.by === 'ids' ? selected.ids.join(', ') : `of cause ${selected.causeId}, up to ${selected.lastId}`,
    }),
  }),
  readDecision: defineRoute({
    role: 'viewer',
    input: z.strictObject({ service, decidedAt: Instant }),
    answer: DecisionProgress,
  }),
  /** A page of the letters that were retried or discarded. */
  listDecidedLetters: defineRoute({
    role: 'viewer',
    input: z.strictObject({ service, after: DecidedCursor.optional() }),
    answer: DecidedLettersAnswer,
  }),
  readRecordLetters: defineRoute({
    role: 'viewer',
    input: z.strictObject({ ...RecordPlace.shape, partition: z.coerce.number<number>().int().min(0) }),
    answer: LettersOfRecord,
  }),
  /** A record of `user-events`. */
  setRecordAside: defineRoute({
    role: 'operator',
    input: z.strictObject({ service, partition: z.number().int().min(0), offset: DeadLetter.shape.offset }),
    answer: Nothing,
    logged: ({ service: consumer, partition, offset }) => ({
      service: consumer,
      partition: String(partition),
      offset,
    }),
  }),
} satisfies ApiTable
