import { escapeControls } from '@nextvisit/consumer'
import {
  CAUSE_OF_ERASED,
  type DeadLetter,
  type deadLetterCalls,
  type DeadLetterGroup,
  type LogPosition,
  type ShownText,
} from '@nextvisit/contracts'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import type { z } from 'zod'
import { consumerNamed, requireSomeConsumer } from '../environment/consumer-database.ts'
import { CliError, EXIT } from '../errors.ts'
import { complain, print, printTable } from '../output/print.ts'
import { askPart } from '../status/ask-part.ts'
import { answerOf, type DeadLetterCalls, withDeadLetters } from './ask-dead-letters.ts'
import { askEach, recordName } from './select-letters.ts'

const MAX_CAUSES = 10_000
const LETTERS_A_PAGE = 200
/** Of each consumer. */
const MAX_RECORDS = 1_000

interface ListFlags {
  readonly service?: string
  readonly all?: boolean
  readonly records?: boolean
  readonly json?: boolean
}

/** Prints the dead letters of one consumer, or of all, by cause or by record. */
export async function listDeadLetters(env: EnvironmentVariables, flags: ListFlags): Promise<void> {
  const { service, all = false, records = false, json } = flags
  if (records && all)
    throw new CliError('--records lists only records that wait for a decision: omit --all.', EXIT.usage)
  if (records) return listRecords(env, flags)
  const asked = service === undefined ? consumers : [consumerNamed(service)]
  if (service === undefined) requireSomeConsumer(env)
  const answers = await Promise.all(
    asked.map(async (consumer) => {
      const read = () =>
        withDeadLetters(env, consumer, (calls) => answerOf(calls.readCauses({ withSettled: all, limit: MAX_CAUSES })))
      return { service: consumer.name, answer: await askPart(read) }
    }),
  )
  const groups = answers.flatMap((one) =>
    one.answer.status === 'available' ? one.answer.groups.map((group) => ({ service: one.service, ...group })) : [],
  )
  const away = answers.flatMap((one) => (one.answer.status === 'away' ? `${one.service}: ${one.answer.because}` : []))
  if (json) print(JSON.stringify(groups, null, 2))
  else if (groups.length > 0 || away.length === 0) printGroups(groups, all)
  requireAll(away)
}

function requireAll(away: readonly string[]): void {
  if (away.length > 0) throw new CliError(`Some consumers did not answer.\n${away.join('\n')}`)
}

/** The dead letters of one record. */
interface DeadRecord extends LogPosition {
  readonly record: string
  readonly recordTime: string
  readonly letters: readonly (Pick<DeadLetter, 'state' | 'cause'> & { readonly letter: string })[]
}

/** Prints the records that wait for a decision, each with its letter in every consumer. */
async function listRecords(env: EnvironmentVariables, { service, json }: ListFlags): Promise<void> {
  if (service === undefined) requireSomeConsumer(env)
  const asked = (service === undefined ? consumers : [consumerNamed(service)]).map((consumer) => ({ consumer }))
  const answers = await askEach(env, asked, async (calls) => ({ letters: await readOpen(calls) }))
  const found = answers.flatMap(({ of, answer }) =>
    answer.status === 'available'
      ? answer.letters.map((letter) => ({ ...letter, letter: `${of.consumer.name}/${letter.id}` }))
      : [],
  )
  const records = [...Map.groupBy(found, recordName)].flatMap(([record, letters]) => deadRecord(record, letters))
  if (json) print(JSON.stringify(records, null, 2))
  else printRecords(records)
  if (answers.some(({ answer }) => answer.status === 'available' && answer.letters.length >= MAX_RECORDS))
    complain(`Shown: the oldest ${MAX_RECORDS} letters of each consumer. Decide them by cause: see list.`)
  requireAll(
    answers.flatMap(({ of, answer }) => (answer.status === 'away' ? `${of.consumer.name}: ${answer.because}` : [])),
  )
}

/** Reads the oldest letters that wait for a decision or a retry. */
async function readOpen(calls: DeadLetterCalls): Promise<readonly DeadLetter[]> {
  const read: DeadLetter[] = []
  let after: string | null = '0'
  while (after !== null && read.length < MAX_RECORDS) {
    const page: z.output<typeof deadLetterCalls.list.answer> = await answerOf(
      calls.list({ after, limit: LETTERS_A_PAGE }),
    )
    read.push(...page.letters)
    after = page.next
  }
  return read
}

function deadRecord(
  record: string,
  found: readonly (DeadLetter & { readonly letter: string })[],
): readonly DeadRecord[] {
  const [first] = found
  if (!first) return []
  const { topic, partition, offset, recordTime } = first
  const letters = found.map(({ letter, state, cause }) => ({ letter, state, cause }))
  return [{ record, topic, partition, offset, recordTime, letters }]
}

function printRecords(records: readonly DeadRecord[]): void {
  const [first] = records
  if (!first) return print('No record waits for a decision.')
  printTable(
    ['RECORD', 'RECORD TIME', 'LETTER', 'STATE', 'CAUSE'],
    records.flatMap(({ record, recordTime, letters }) =>
      letters.map(({ letter, state, cause }, nth) => [
        nth === 0 ? record : '',
        nth === 0 ? recordTime : '',
        letter,
        state === 'retry' ? 'to retry' : state,
        cause,
      ]),
    ),
  )
  print(`\nDecide in every consumer: nextvisit dead-letters retry --record ${first.record}, or discard`)
}

function printGroups(groups: readonly (DeadLetterGroup & { readonly service: string })[], isAll: boolean): void {
  const [first] = groups
  if (!first) return print(isAll ? 'There never were any dead letters.' : 'There are no dead letters.')
  const settled = isAll ? ['RETRIED', 'DISCARDED'] : []
  printTable(
    ['CONSUMER', 'DEAD', 'TO RETRY', ...settled, 'OLDEST RECORD', 'NEWEST RECORD', 'EXAMPLE', 'CAUSE'],
    groups.map(({ service, cause, dead, toRetry, retried, discarded, oldest, newest, example }) => [
      service,
      dead,
      toRetry,
      ...(isAll ? [retried, discarded] : []),
      oldest,
      newest,
      `${service}/${example}`,
      cause,
    ]),
  )
  print(`\nMore about one: nextvisit dead-letters show ${first.service}/${first.example}`)
}

/** Prints one dead letter, and with `value` its value. `name`: `metering/12`. */
export async function showDeadLetter(
  env: EnvironmentVariables,
  name: string,
  { value = false }: { readonly value?: boolean },
): Promise<void> {
  const [, service, id] = /^([a-z-]+)\/(\d{1,18})$/.exec(name) ?? []
  if (service === undefined || id === undefined) {
    throw new CliError(`${name} does not name a dead letter; list shows names like metering/12.`, EXIT.usage)
  }
  const found = await withDeadLetters(env, consumerNamed(service), (calls) =>
    calls.read({ id, content: value ? 'whole' : 'headers' }),
  )
  if (found.outcome === 'answered') return printDeadLetter(name, found.answer)
  throw new CliError(`There is no dead letter ${name}; see nextvisit dead-letters list --all.`)
}

/** Keys are user ids, or any other bytes that the record had. */
function printDeadLetter(name: string, { content, ...letter }: z.infer<typeof deadLetterCalls.read.answer>): void {
  const { decidedAt, decidedBy, valueBytes } = letter
  const lines: readonly (readonly [string, string])[] = [
    ['letter', name],
    ['state', decidedAt ? `${letter.state} (${decidedBy}, ${decidedAt})` : letter.state],
    ['cause', letter.cause],
    ['in the log', `${letter.topic}, partition ${letter.partition}, offset ${letter.offset}`],
    ['record', `${recordName(letter)}, for --record`],
    ['record time', letter.recordTime],
    ['dead since', `${letter.deadAt}, by version ${letter.serviceVersion} of the consumer`],
    ['key', content?.key ? textOf(content.key) : 'none'],
    ...(content?.headers ?? []).map((header) => [`header ${header.name}`, header.value] as const),
    ['value', content?.value ? textOf(content.value) : describeValue(letter.cause, valueBytes)],
  ]
  const width = Math.max(...lines.map(([label]) => label.length))
  for (const [label, text] of lines) print(`${label.padEnd(width)}  ${text}`)
}

function describeValue(cause: string, bytes: number | null): string {
  if (cause === CAUSE_OF_ERASED) return 'erased, like the headers'
  return bytes === null ? 'null' : `${bytes} bytes; --value shows them. They may hold personal data.`
}

function textOf({ form, text }: ShownText): string {
  return form === 'hex' ? `\\x${text}` : escapeControls(text)
}
