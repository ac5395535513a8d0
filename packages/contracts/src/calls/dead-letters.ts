import { z } from 'zod'
import { Instant } from '../primitives.ts'
import { isStorable } from '../records/record-codec.ts'

/** Offsets and ids have 64 bits, so they are texts. */
const Whole = z.string().regex(/^\d{1,18}$/, 'must be a whole number')
const CauseId = z.string().regex(/^c[0-9a-f]{1,16}$/, 'must be the id of a cause')
/** Who decides, for the rows. */
const By = z.string().min(1).max(200).refine(isStorable, 'must hold no U+0000 or lone surrogate')
const count = z.number().int()

/** Dead letters of a service that share what is wrong with them, and wait for somebody or for their next try. */
export const DeadLetterGroup = z.object({
  cause: z.string(),
  /** Names the cause where its text must not stand: it may quote what a user said. */
  causeId: CauseId,
  dead: count,
  toRetry: count,
  /** Kafka's times of the oldest and of the newest record. */
  oldest: Instant,
  newest: Instant,
  /** The id of the oldest, for `nextvisit dead-letters show`. */
  example: z.string(),
  /** The greatest id: letters that die later have a greater one. */
  lastId: Whole,
})
export type DeadLetterGroup = z.infer<typeof DeadLetterGroup>
/** The largest first. */
export const DeadLetterCausesAnswer = z.object({ groups: z.array(DeadLetterGroup) })
export type DeadLetterCausesAnswer = z.infer<typeof DeadLetterCausesAnswer>

export const DeadLetterState = z.enum(['dead', 'retry', 'retried', 'discarded'])

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
  /** Of the consumer, when it last tried the record. */
  serviceVersion: z.string(),
  /** Who last asked for a retry or discarded it, and when. */
  decidedBy: z.string().nullable(),
  decidedAt: Instant.nullable(),
  /** null: the record has no value. */
  valueBytes: count.nullable(),
})
export type DeadLetter = z.infer<typeof DeadLetter>

/** `causeId`: those that wait. `after`: the last id of the page before. */
export const DeadLettersQuery = z.object({
  causeId: CauseId,
  after: Whole.default('0'),
  limit: z.number().int().min(1).max(200),
})
export const DeadLettersAnswer = z.object({ letters: z.array(DeadLetter), next: Whole.nullable() })
export type DeadLettersAnswer = z.infer<typeof DeadLettersAnswer>

/** A record's place in the log. */
export const RecordPlace = z.object({ topic: z.string().min(1).max(249), partition: count.min(0), offset: Whole })
export type RecordPlace = z.infer<typeof RecordPlace>
/** What this consumer's letter of the record says; null: it has none. */
export const DeadLetterAtAnswer = z.object({ letter: DeadLetter.nullable() })
export type DeadLetterAtAnswer = z.infer<typeof DeadLetterAtAnswer>

/** A place among the letters that somebody has decided on. */
export const DecidedPosition = z.object({ decidedAt: Instant, id: Whole })
export type DecidedPosition = z.infer<typeof DecidedPosition>
/** `after`: the last of the page before. */
export const DecidedLettersQuery = z.object({
  after: DecidedPosition.optional(),
  limit: z.number().int().min(1).max(200),
})
/** Those that were decided last come first. */
export const DecidedLettersAnswer = z.object({ letters: z.array(DeadLetter), next: DecidedPosition.nullable() })
export type DecidedLettersAnswer = z.infer<typeof DecidedLettersAnswer>

/** `text`, of the form that `form` says; of a longer one only the beginning. */
export const ShownText = z.object({ form: z.enum(['json', 'text', 'hex']), text: z.string(), isCut: z.boolean() })
export type ShownText = z.infer<typeof ShownText>

/** What a record holds, which may be personal. Bounded. */
export const RecordContent = z.object({
  key: ShownText.nullable(),
  headers: z.array(z.object({ name: z.string(), value: z.string() })),
  value: ShownText.nullable(),
})
export type RecordContent = z.infer<typeof RecordContent>

export const DeadLetterQuery = z.object({ id: Whole, withContent: z.boolean() })
/** `content` is null unless it was asked for. */
export const DeadLetterAnswer = DeadLetter.extend({ content: RecordContent.nullable() })
export type DeadLetterAnswer = z.infer<typeof DeadLetterAnswer>

/** One decision takes at most so many letters. */
export const MAX_DECIDED_LETTERS = 10_000

/** `lastId`: no letters with a greater id, which whoever decides has not seen. */
export const SelectedLetters = z.discriminatedUnion('by', [
  z.object({ by: z.literal('ids'), ids: z.array(Whole).min(1).max(200) }),
  z.object({ by: z.literal('causeId'), causeId: CauseId, lastId: Whole }),
])
export type SelectedLetters = z.infer<typeof SelectedLetters>

/** `retry`: fold them again, late. `discard`: never fold them. Of the selected, those that are dead. */
export const Decision = z.enum(['retry', 'discard'])
export type Decision = z.infer<typeof Decision>
export const DecideDeadLetters = z.object({ selected: SelectedLetters, decision: Decision, by: By })
/** `decidedAt` names the decision for {@link DecisionQuery}; null: none of the selected was dead. */
export const DecidedAnswer = z.object({ count, decidedAt: Instant.nullable() })
export type DecidedAnswer = z.infer<typeof DecidedAnswer>

export const DecisionQuery = z.object({ decidedAt: Instant })
/** In which states the letters are now. `deadAgain`: what is wrong with the dead ones, the most frequent causes. */
export const DecisionAnswer = z.object({
  retry: count,
  retried: count,
  dead: count,
  discarded: count,
  deadAgain: z.array(DeadLetterGroup.pick({ cause: true, causeId: true }).extend({ count })),
})
export type DecisionAnswer = z.infer<typeof DecisionAnswer>

export const SetAside = RecordPlace.extend({ by: By })
export const SetAsideAnswer = z.discriminatedUnion('outcome', [
  /** The partition's owner does it in its next commit. */
  z.object({ outcome: z.literal('asked') }),
  z.object({ outcome: z.literal('dead-letter'), id: Whole }),
  /** Nothing was done. */
  z.object({ outcome: z.literal('refused'), reason: z.string() }),
])
export type SetAsideAnswer = z.infer<typeof SetAsideAnswer>
