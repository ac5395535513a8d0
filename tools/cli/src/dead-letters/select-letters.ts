import type { Consumer } from '@nextvisit/consumer'
import type { DeadLetterSelection, LogPosition } from '@nextvisit/contracts'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import { consumerNamed, requireSomeConsumer } from '../environment/consumer-database.ts'
import { CliError, EXIT } from '../errors.ts'
import { askPart, type PartAnswer } from '../status/ask-part.ts'
import { type DeadLetterCalls, withDeadLetters } from './ask-dead-letters.ts'

/** Flags that select dead letters. Without `service`: of every consumer. */
export interface SelectionFlags {
  readonly service?: string
  readonly id?: readonly string[]
  readonly record?: readonly string[]
  readonly cause?: string
  readonly all?: true
}

/** Dead letters of one consumer. */
export interface SelectedLetters {
  readonly consumer: Consumer
  readonly selected: DeadLetterSelection
}

/**
 * Returns the selection in each consumer. Requires exactly one of `--id`, `--record`, `--cause` and `--all`, so that a
 * forgotten flag decides nothing.
 */
export function selectLetters(env: EnvironmentVariables, flags: SelectionFlags): readonly SelectedLetters[] {
  const { service, id, record, cause, all } = flags
  const given = [id, record, cause, all].filter((flag) => flag !== undefined)
  if (given.length !== 1) {
    throw new CliError('Specify exactly one of --record (repeatable), --id (repeatable), --cause or --all.', EXIT.usage)
  }
  const only = service === undefined ? undefined : consumerNamed(service)
  if (id) return selectIds(id, service)
  if (!only) requireSomeConsumer(env)
  const selected = selectionOf(record, cause)
  return (only ? [only] : consumers).map((consumer) => ({ consumer, selected }))
}

function selectionOf(record: SelectionFlags['record'], cause: string | undefined): DeadLetterSelection {
  if (record) return { by: 'records', records: record.map(parseRecord) }
  return cause === undefined ? { by: 'all' } : { by: 'cause', cause }
}

/** Selects dead letters as `list` names them, `metering/12`; with `--service`, also by their numbers alone. */
function selectIds(names: readonly string[], service: string | undefined): readonly SelectedLetters[] {
  const letters = names.map((name) => {
    const [, named = service, id] = /^(?:([a-z-]+)\/)?(\d{1,18})$/.exec(name) ?? []
    if (named === undefined || id === undefined || (service !== undefined && named !== service)) {
      throw new CliError(
        `${name} is not a dead letter${service === undefined ? '' : ` of ${service}`}; nextvisit dead-letters list shows their names.`,
        EXIT.usage,
      )
    }
    return { named, id }
  })
  return Array.from(
    Map.groupBy(letters, ({ named }) => named),
    ([named, all]) => ({ consumer: consumerNamed(named), selected: { by: 'ids', ids: all.map(({ id }) => id) } }),
  )
}

/** Parses `user-events/3/1704`: topic, partition and offset. */
function parseRecord(text: string): LogPosition {
  const [, topic, partition, offset] = /^([^/]{1,249})\/(\d{1,9})\/(\d{1,18})$/.exec(text) ?? []
  if (topic !== undefined && partition !== undefined && offset !== undefined)
    return { topic, partition: Number(partition), offset }
  throw new CliError(
    `${text} is not a record: specify topic/partition/offset, such as user-events/3/1704. nextvisit dead-letters list --records shows them.`,
    EXIT.usage,
  )
}

/** Formats a record as `--record` takes it. */
export function recordName({ topic, partition, offset }: LogPosition): string {
  return `${topic}/${partition}/${offset}`
}

/** The answer of one consumer, or the reason why it has none. */
export interface AnswerOfConsumer<Selected extends { readonly consumer: Consumer }, Answer> {
  readonly of: Selected
  readonly answer: PartAnswer<Answer>
}

/** Asks several consumers at once. A failure does not stop the others. With a single consumer, its failure throws. */
export function askEach<Selected extends { readonly consumer: Consumer }, Answer extends object>(
  env: EnvironmentVariables,
  all: readonly Selected[],
  ask: (calls: DeadLetterCalls, of: Selected) => Promise<Answer>,
): Promise<readonly AnswerOfConsumer<Selected, Answer>[]> {
  return Promise.all(
    all.map(async (of) => {
      const asked = () => withDeadLetters(env, of.consumer, (calls) => ask(calls, of))
      const answer = all.length === 1 ? { status: 'available' as const, ...(await asked()) } : await askPart(asked)
      return { of, answer }
    }),
  )
}
