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

const service = SlugId

/** A page of the dead letters of one cause that wait. */
export const LettersQuery = z.strictObject({
  service,
  causeId: DeadLetter.shape.causeId,
  after: DeadLetter.shape.id.optional(),
})
/** `atOnce`: one decision takes at most so many. */
export const LettersAnswer = z.strictObject({ ...DeadLettersAnswer.shape, atOnce: z.number().int() })
export type LettersAnswer = z.infer<typeof LettersAnswer>
export type LetterLine = z.infer<typeof DeadLetter>

export const LetterPath = z.strictObject({ service, id: DeadLetter.shape.id })
export type LetterPath = z.infer<typeof LetterPath>

/** `content` is null for a viewer who has not asked for it. */
export const LetterAnswer = z.strictObject(DeadLetterAnswer.shape)
export type LetterAnswer = z.infer<typeof LetterAnswer>

export const RecordPath = z.strictObject({ ...RecordPlace.shape, partition: z.coerce.number().int().min(0) })
/** What each consumer made of one record. `letter` is null where it has none, or does not answer. */
export const LettersOfRecord = z.strictObject({
  consumers: z.array(z.strictObject({ service, isAnswering: z.boolean(), letter: DeadLetter.nullable() })),
})
export type LettersOfRecord = z.infer<typeof LettersOfRecord>

/** The last letter of the page before: when it was decided, and its id. */
const DecidedCursor = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.tuple([Instant, DeadLetter.shape.id]))
  .transform(([decidedAt, id]) => ({ decidedAt, id }))

/** A page of the letters that somebody has decided on. */
export const DecidedLettersQuery = z.strictObject({ service, after: DecidedCursor.optional() })
/** `next`: for `after`. */
export const DecidedLettersAnswer = z.strictObject({ letters: z.array(DeadLetter), next: z.string().nullable() })
export type DecidedLettersAnswer = z.infer<typeof DecidedLettersAnswer>

export const Decide = z.strictObject({ service, decision: Decision, selected: SelectedLetters })
export type Decide = z.infer<typeof Decide>
export const Decided = z.strictObject(DecidedAnswer.shape)
export type Decided = z.infer<typeof Decided>

export const DecisionPath = z.strictObject({ service, decidedAt: Instant })
export const DecisionProgress = z.strictObject(DecisionAnswer.shape)
export type DecisionProgress = z.infer<typeof DecisionProgress>

/** Of `user-events`. */
export const SetAsideInput = z.strictObject({
  service,
  partition: z.number().int().min(0),
  offset: DeadLetter.shape.offset,
})
export type SetAsideInput = z.infer<typeof SetAsideInput>
