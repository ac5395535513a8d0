import {
  DeadLetter,
  deadLetterCalls,
  DeadLetterDecision,
  Instant,
  LogPosition,
  SeenDeadLetters,
  SlugId,
} from '@nextvisit/contracts'
import { z } from 'zod'
import { cursorOf } from '../http/cursor.ts'
import { defineRoute, Nothing } from '../http/define-route.ts'

const service = SlugId

const MAX_CONSUMERS = 50

function selectedInWords(selected: SeenDeadLetters): string {
  switch (selected.by) {
    case 'ids':
      return selected.ids.join(', ')
    case 'records':
      return `of ${selected.records.map(({ topic, partition, offset }) => `${topic}/${partition}/${offset}`).join(', ')}`
    case 'causeId':
      return `of cause ${selected.causeId}, up to ${selected.lastId}`
  }
}

function lettersInWords(
  selections: readonly { readonly service: string; readonly selected: SeenDeadLetters }[],
): string {
  return selections.map(({ service: name, selected }) => `${name}: ${selectedInWords(selected)}`).join('; ')
}

function countsOf(
  consumers: readonly ({ readonly outcome: 'failed' } | { readonly outcome: 'decided'; readonly count: number })[],
) {
  const decided = consumers.flatMap((one) => (one.outcome === 'decided' ? one.count : []))
  return { count: decided.reduce((sum, count) => sum + count, 0), failed: consumers.length - decided.length }
}

const DeadLetterPath = z.strictObject({ service, id: DeadLetter.shape.id })

const DecidedCursor = cursorOf(DeadLetter.shape.id).transform(([decidedAt, id]) => ({ decidedAt, id }))

export const deadLettersApi = {
  /** Lists a page of the dead letters of one cause that wait for a decision or a retry. */
  listDeadLetters: defineRoute({
    role: 'viewer',
    input: z.strictObject({ service, causeId: DeadLetter.shape.causeId, after: DeadLetter.shape.id.optional() }),
    // `atOnce`: maximum number of dead letters in one decision.
    answer: deadLetterCalls.list.answer.extend({ atOnce: z.number().int() }),
  }),
  /** `content` is null for a viewer who has not asked for it. `isErased`: the bytes were erased with their user. */
  readDeadLetter: defineRoute({
    role: 'viewer',
    input: DeadLetterPath,
    answer: deadLetterCalls.read.answer.extend({ isErased: z.boolean() }),
  }),
  revealDeadLetter: defineRoute({
    role: 'viewer',
    input: DeadLetterPath,
    answer: Nothing,
    logged: (path) => ({ letter: `${path.service}/${path.id}` }),
  }),
  /** Decides in each of these consumers. `message` names consumers that do not answer, which may decide later. */
  decideDeadLetters: defineRoute({
    role: 'operator',
    input: z.strictObject({
      decision: DeadLetterDecision,
      selections: z
        .array(z.strictObject({ service, selected: SeenDeadLetters }))
        .min(1)
        .max(MAX_CONSUMERS),
    }),
    answer: z.strictObject({
      consumers: z.array(
        z.discriminatedUnion('outcome', [
          deadLetterCalls.decide.answer.extend({ service, outcome: z.literal('decided') }),
          z.strictObject({ service, outcome: z.literal('failed'), message: z.string() }),
        ]),
      ),
    }),
    logged: ({ decision, selections }) => ({
      decision,
      letters: lettersInWords(selections),
    }),
    change: ({ decision, selections }, answer) => ({
      kind: `dead-letters.${decision}`,
      target: selections.map(({ service: name }) => name).join(', '),
      details: { letters: lettersInWords(selections), ...(answer && countsOf(answer.consumers)) },
      failure: answer?.consumers.every(({ outcome }) => outcome === 'failed') ? 'UNAVAILABLE' : undefined,
    }),
  }),
  readDecision: defineRoute({
    role: 'viewer',
    input: z.strictObject({ service, decidedAt: Instant }),
    answer: deadLetterCalls.readDecision.answer,
  }),
  /** Lists a page of the dead letters that were retried or discarded. */
  listDecidedDeadLetters: defineRoute({
    role: 'viewer',
    input: z.strictObject({ service, after: DecidedCursor.optional() }),
    // `next`: `after` of the next page.
    answer: z.strictObject({ letters: z.array(DeadLetter), next: z.string().nullable() }),
  }),
  /** Reads the state of one record in each consumer. `letter` is null if the consumer has none, or does not answer. */
  readDeadLettersOfRecord: defineRoute({
    role: 'viewer',
    input: z.strictObject({ ...LogPosition.shape, partition: z.coerce.number<number>().int().min(0) }),
    answer: z.strictObject({
      consumers: z.array(z.strictObject({ service, isAnswering: z.boolean(), letter: DeadLetter.nullable() })),
    }),
  }),
  /** Sets a record of the consumers' topic aside in each of them. Refused if it halts none of them. */
  setRecordAside: defineRoute({
    role: 'operator',
    input: z.strictObject({
      services: z.array(service).min(1).max(MAX_CONSUMERS),
      partition: z.number().int().min(0),
      offset: DeadLetter.shape.offset,
    }),
    answer: z.strictObject({
      /** Consumers that have not set it aside, with the reason in a sentence. */
      failed: z.array(z.strictObject({ service, message: z.string() })),
    }),
    logged: ({ services, partition, offset }) => ({
      service: services.join(', '),
      partition: String(partition),
      offset,
    }),
    change: ({ services, partition, offset }, answer) => ({
      kind: 'record.set-aside',
      target: services.join(', '),
      details: { partition, offset, ...(answer && { failed: answer.failed.length }) },
      failure: answer?.failed.length === services.length ? 'NOT_SET_ASIDE' : undefined,
    }),
  }),
}
