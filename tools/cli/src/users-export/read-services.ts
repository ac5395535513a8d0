import {
  type consumerCalls,
  type DeadLetter,
  type gatewayCalls,
  type LogPosition,
  MAX_REFUSALS_ASKED,
  type RecordContent,
  type RowPlace,
} from '@nextvisit/contracts'
import type { CallClient, CallOutcome } from '@nextvisit/service-kit'
import { isTokenRefused } from '../errors.ts'
import type { NamedProject, Person, PersonWriter } from './person-writer.ts'
import { rowLineOf } from './row-line.ts'

interface PersonParts {
  readonly person: Person
  readonly writer: PersonWriter
  /** Returns whether an erasure covers the record of a dead letter. */
  readonly isErased: (letter: LogPosition) => boolean
}

export type ConsumerClient = Pick<CallClient<typeof consumerCalls>, 'readUserRows' | 'listOfKey' | 'read'>

const ROWS_A_PAGE = 100
const LETTERS_A_PAGE = 50
/** A larger one does not fit into an answer of a consumer. */
const MAX_WHOLE_BYTES = 2 * 2 ** 20

/** A source that failed, and why. */
class SourceFailed extends Error {}

/**
 * Writes the rows and dead letters of a consumer, without letters of records that an erasure covers. A failure is noted, and does
 * not end the export.
 */
export async function writeConsumer(service: string, consumer: ConsumerClient, parts: PersonParts): Promise<void> {
  const { person, writer } = parts
  await noting(service, writer, async () => {
    await writeRows(service, consumer, person, writer)
    await writeDeadLetters(service, consumer, parts)
  })
}

async function writeRows(
  service: string,
  { readUserRows }: ConsumerClient,
  { organization, project, userId }: Person,
  writer: PersonWriter,
): Promise<void> {
  let after: RowPlace | undefined
  do {
    const asked = await readUserRows({ organization, project, userId, limit: ROWS_A_PAGE, after })
    const { rows, next, stale } = answerOf(asked)
    if (stale) writer.miss(service, 'it lags behind the log: its rows lack the latest records')
    for (const row of rows) {
      const { type, line } = rowLineOf(service, row)
      await writer.writeLine(type, service, line)
    }
    after = next ?? undefined
  } while (after)
}

async function writeDeadLetters(
  service: string,
  { listOfKey, read }: ConsumerClient,
  { person: { userId }, writer, isErased }: PersonParts,
): Promise<void> {
  let after: string | undefined
  do {
    const { letters, next } = answerOf(await listOfKey({ key: userId, limit: LETTERS_A_PAGE, after }))
    for (const { id, valueBytes, ...position } of letters) {
      if (isErased(position)) continue
      const isWhole = (valueBytes ?? 0) <= MAX_WHOLE_BYTES
      const asked = await read({ id, content: isWhole ? 'whole' : 'bounded' })
      // Removed since it was listed.
      if (asked.outcome === 'not-found') continue
      const letter = answerOf(asked)
      if (!writer.owns(service, projectIn(letter.content))) continue
      if (!isWhole) writer.miss(service, `dead letter ${id} is cut: see nextvisit dead-letters show ${id}`)
      await writer.writeLine('dead-letter', service, letterLineOf(letter))
    }
    after = next ?? undefined
  } while (after)
}

function projectIn(content: RecordContent | null): NamedProject {
  if (content?.value?.form !== 'json') return {}
  return (JSON.parse(content.value.text) as NamedProject | null) ?? {}
}

/** The cause is ours. Members of the operators' work are not about the person. */
function letterLineOf(letter: DeadLetter & { readonly content: unknown }): object {
  const { id, state, cause, topic, partition, offset, recordTime, deadAt, valueBytes, content } = letter
  return { id, state, cause, topic, partition, offset, recordTime, deadAt, valueBytes, content }
}

/** Writes the kept refusals that name the person. */
export async function writeRefusals(
  { readRefusals }: CallClient<typeof gatewayCalls>,
  { organization, project, userId }: Person,
  writer: PersonWriter,
): Promise<void> {
  await noting('gateway', writer, async () => {
    const asked = await readRefusals({ organization, project, userId, limit: MAX_REFUSALS_ASKED })
    const { refusals } = answerOf(asked)
    if (!refusals) throw new SourceFailed('Redis, where the gateways keep refusals, does not answer')
    if (refusals.length === MAX_REFUSALS_ASKED) writer.miss('gateway', 'older refusals may be missing')
    for (const { id, at, reason, ...refusal } of refusals.toReversed())
      await writer.writeLine('refusal', 'gateway', { at, reason, ...refusal, id })
  })
}

async function noting(source: string, writer: PersonWriter, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof SourceFailed)) throw error
    writer.miss(source, error.message)
  }
}

function answerOf<Answer>(asked: CallOutcome<Answer>): Answer {
  switch (asked.outcome) {
    case 'answered':
      return asked.answer
    case 'unavailable':
      throw new SourceFailed(
        isTokenRefused(asked.cause)
          ? 'it refuses INTERNAL_TOKEN: set the token that it was started with'
          : 'it does not answer. See nextvisit status',
      )
    case 'behind':
    case 'not-found':
      throw new SourceFailed('it lags behind the log. See nextvisit status')
  }
}
