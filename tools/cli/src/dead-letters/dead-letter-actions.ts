import {
  countDead,
  countDecided,
  type DeadLetterCause,
  decideDeadLetters,
  type DecidedLetters,
  findMissingLetters,
  type LetterDecision,
  type LetterSelection,
  readDeadLetter,
  readDeadLetterCauses,
} from '@nextvisit/consumer'
import { type Query, queryOn } from '@nextvisit/database'
import type { Environment } from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import { operatingUser } from '../config.ts'
import { consumerNamed, inConsumerDatabase, requireSomeConsumer } from '../consumer-database.ts'
import { CliError, EXIT } from '../errors.ts'
import { complain, print, printTable } from '../output.ts'
import { createProgress } from '../progress.ts'
import { ask } from '../status/part.ts'
import { awaitFolded } from './await-folded.ts'
import { printLetter } from './print-letter.ts'
import { letterNamed, type SelectionFlags, selectionOf } from './selection.ts'

/** A consumer looks for them every five seconds, and then folds a hundred letters of a partition a second. */
const STALLED_AFTER_MS = 20_000
const LOOK_EVERY_MS = 250
/** More than a record can have. */
const WHOLE_VALUE_BYTES = 2 ** 31 - 1
const MAX_CAUSES = 10_000

export interface ListFlags {
  readonly service?: string
  readonly all?: boolean
  readonly json?: boolean
}

export async function listLetters(env: Environment, { service, all = false, json }: ListFlags): Promise<void> {
  const asked = service === undefined ? consumers : [consumerNamed(service)]
  if (service === undefined) requireSomeConsumer(env)
  const answers = await Promise.all(
    asked.map(async (consumer) => {
      const read = async () => ({
        groups: await inConsumerDatabase(env, consumer, (client) => readCauses(queryOn(client), consumer.name, all)),
      })
      return { service: consumer.name, answer: await ask(read, (error) => error.message) }
    }),
  )
  const groups = answers.flatMap((one) =>
    one.answer.status === 'available' ? one.answer.groups.map((group) => ({ service: one.service, ...group })) : [],
  )
  const away = answers.flatMap((one) => (one.answer.status === 'away' ? `${one.service}: ${one.answer.because}` : []))
  if (json) print(JSON.stringify(groups, null, 2))
  else if (groups.length > 0 || away.length === 0) printGroups(groups, all)
  if (away.length > 0) throw new CliError(`Not everybody could be asked.\n${away.join('\n')}`)
}

function printGroups(groups: readonly (DeadLetterCause & { readonly service: string })[], isAll: boolean): void {
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
      oldest.toISOString(),
      newest.toISOString(),
      `${service}/${example}`,
      cause,
    ]),
  )
  print(`\nMore about one: nextvisit dead-letters show ${first.service}/${first.example}`)
}

export async function showLetter(
  env: Environment,
  name: string,
  { value = false }: { readonly value?: boolean },
): Promise<void> {
  const { service, id } = letterNamed(name)
  const letter = await inConsumerDatabase(env, consumerNamed(service), (client) =>
    readDeadLetter(queryOn(client), service, id, { maxValueBytes: value ? WHOLE_VALUE_BYTES : 0 }),
  )
  if (!letter) throw new CliError(`${name} is not there; nextvisit dead-letters list --all names all there are.`)
  printLetter(name, letter, value)
}

export async function retryLetters(
  env: Environment,
  flags: SelectionFlags & { readonly wait: boolean },
): Promise<void> {
  const selection = selectionOf(flags)
  const consumer = consumerNamed(flags.service)
  await inConsumerDatabase(env, consumer, async (client) => {
    const query = queryOn(client)
    await requireThere(query, consumer.name, selection)
    const { count, decidedAt } = await decideAll(query, consumer.name, selection, 'retry')
    if (!decidedAt) return print('None of these is dead: there is nothing to retry.')
    print(`${count} to be tried again.`)
    if (!flags.wait) return
    const progress = createProgress()
    const {
      retried,
      dead,
      retry: waiting,
    } = await awaitFolded({
      readCounts: () => countDecided(query, consumer.name, decidedAt),
      onWaiting: (left) => progress.report((count - left) / count, count - left),
      stalledAfterMs: STALLED_AFTER_MS,
      lookEveryMs: LOOK_EVERY_MS,
    }).finally(progress.end)
    print(`${retried} folded.`)
    if (dead > 0) complain(`${dead} dead again; nextvisit dead-letters list shows what is wrong with them now.`)
    if (waiting > 0)
      complain(
        `${waiting} still wait for ${consumer.name}, and have not become fewer for ${STALLED_AFTER_MS / 1_000} s: see ` +
          `that it runs (nextvisit status), then look again with nextvisit dead-letters list --service ${consumer.name}.`,
      )
    if (dead + waiting > 0) throw new CliError('Not all were folded.')
  })
}

export async function discardLetters(env: Environment, flags: SelectionFlags & { readonly yes?: true }): Promise<void> {
  const selection = selectionOf(flags)
  const consumer = consumerNamed(flags.service)
  await inConsumerDatabase(env, consumer, async (client) => {
    const query = queryOn(client)
    await requireThere(query, consumer.name, selection)
    if (!flags.yes) {
      const dead = await countDead(query, consumer.name, selection)
      if (dead === 0) return print(NOTHING_TO_DISCARD)
      throw new CliError(`${dead} would be discarded, and never folded. Nothing was done; add --yes.`, EXIT.usage)
    }
    const { count } = await decideAll(query, consumer.name, selection, 'discarded')
    print(count === 0 ? NOTHING_TO_DISCARD : `${count} discarded.`)
  })
}

const NOTHING_TO_DISCARD = 'None of these is dead: there is nothing to discard.'

/** An id that was mistyped must not pass for a letter that is dealt with already. */
async function requireThere(query: Query, service: string, selection: LetterSelection): Promise<void> {
  if (selection.by !== 'ids') return
  const missing = await findMissingLetters(query, service, selection.ids)
  if (missing.length === 0) return
  const names = missing.map((id) => `${service}/${id}`).join(', ')
  throw new CliError(
    `There is no dead letter ${names}. Nothing was done; nextvisit dead-letters list --all names all there are.`,
  )
}

function readCauses(query: Query, service: string, withSettled: boolean): Promise<readonly DeadLetterCause[]> {
  return readDeadLetterCauses(query, service, { withSettled, limit: MAX_CAUSES })
}

/** One decision, however many letters are selected. */
async function decideAll(
  query: Query,
  service: string,
  selection: LetterSelection,
  state: LetterDecision['state'],
): Promise<Omit<DecidedLetters, 'isFull'>> {
  let [count, decidedAt] = [0, undefined as Date | undefined]
  for (;;) {
    const decided = await decideDeadLetters(query, service, selection, { state, by: operatingUser(), decidedAt })
    count += decided.count
    decidedAt ??= decided.decidedAt
    if (!decided.isFull) return { count, decidedAt }
  }
}
