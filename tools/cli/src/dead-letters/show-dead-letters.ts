import { escapeControls } from '@nextvisit/consumer'
import type { deadLetterCalls, DeadLetterGroup, ShownText } from '@nextvisit/contracts'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import type { z } from 'zod'
import { consumerNamed, requireSomeConsumer } from '../environment/consumer-database.ts'
import { CliError, EXIT } from '../errors.ts'
import { print, printTable } from '../output/print.ts'
import { askPart } from '../status/ask-part.ts'
import { answerOf, withDeadLetters } from './ask-dead-letters.ts'

const MAX_CAUSES = 10_000

/** Prints the dead letters of one consumer, or of all, by cause. */
export async function listDeadLetters(
  env: EnvironmentVariables,
  { service, all = false, json }: { readonly service?: string; readonly all?: boolean; readonly json?: boolean },
): Promise<void> {
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
  if (away.length > 0) throw new CliError(`Some consumers did not answer.\n${away.join('\n')}`)
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
    ['record time', letter.recordTime],
    ['dead since', `${letter.deadAt}, by version ${letter.serviceVersion} of the consumer`],
    ['key', content?.key ? textOf(content.key) : 'none'],
    ...(content?.headers ?? []).map((header) => [`header ${header.name}`, header.value] as const),
    ['value', content?.value ? textOf(content.value) : describeValue(valueBytes)],
  ]
  const width = Math.max(...lines.map(([label]) => label.length))
  for (const [label, text] of lines) print(`${label.padEnd(width)}  ${text}`)
}

function describeValue(bytes: number | null): string {
  return bytes === null ? 'null' : `${bytes} bytes; --value shows them. They may hold personal data.`
}

function textOf({ form, text }: ShownText): string {
  return form === 'hex' ? `\\x${text}` : escapeControls(text)
}
