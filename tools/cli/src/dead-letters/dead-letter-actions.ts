import type { Client } from '@nextvisit/database'
import type { Environment } from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import { operatingUser } from '../config.ts'
import { consumerNamed, inConsumerDatabase, requireSomeConsumer } from '../consumer-database.ts'
import { CliError, EXIT } from '../errors.ts'
import { complain, print, printTable } from '../output.ts'
import { createProgress } from '../progress.ts'
import { ask } from '../status/part.ts'
import { awaitFolded } from './await-folded.ts'
import {
  countDead,
  countStates,
  decide,
  findMissing,
  type LetterGroup,
  type LetterSelection,
  readGroups,
  readLetter,
} from './dead-letter-store.ts'
import { printLetter } from './print-letter.ts'
import { letterNamed, type SelectionFlags, selectionOf } from './selection.ts'

/** A consumer ticks once a second, and folds a hundred letters of a partition a tick. */
const STALLED_AFTER_MS = 20_000
const LOOK_EVERY_MS = 250

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
        groups: await inConsumerDatabase(env, consumer, (client) => readGroups(client, consumer.name, all)),
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

function printGroups(groups: readonly (LetterGroup & { readonly service: string })[], isAll: boolean): void {
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
    readLetter(client, service, id, value),
  )
  if (!letter) throw new CliError(`${name} is not there; nextvisit dead-letters list --all names all there are.`)
  printLetter(name, letter)
}

export async function retryLetters(
  env: Environment,
  flags: SelectionFlags & { readonly wait: boolean },
): Promise<void> {
  const selection = selectionOf(flags)
  const consumer = consumerNamed(flags.service)
  await inConsumerDatabase(env, consumer, async (client) => {
    await requireThere(client, consumer.name, selection)
    const ids = await decide(client, consumer.name, selection, { state: 'retry', by: operatingUser() })
    if (ids.length === 0) return print('None of these is dead: there is nothing to retry.')
    print(`${ids.length} to be tried again.`)
    if (!flags.wait) return
    const progress = createProgress()
    const states = await awaitFolded({
      readStates: () => countStates(client, ids),
      onWaiting: (left) => progress.report((ids.length - left) / ids.length, ids.length - left),
      stalledAfterMs: STALLED_AFTER_MS,
      lookEveryMs: LOOK_EVERY_MS,
    }).finally(progress.end)
    print(`${states.get('retried') ?? 0} folded.`)
    const [dead, waiting] = [states.get('dead') ?? 0, states.get('retry') ?? 0]
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
    await requireThere(client, consumer.name, selection)
    if (!flags.yes) {
      const count = await countDead(client, consumer.name, selection)
      if (count === 0) return print(NOTHING_TO_DISCARD)
      throw new CliError(`${count} would be discarded, and never folded. Nothing was done; add --yes.`, EXIT.usage)
    }
    const ids = await decide(client, consumer.name, selection, { state: 'discarded', by: operatingUser() })
    print(ids.length === 0 ? NOTHING_TO_DISCARD : `${ids.length} discarded.`)
  })
}

const NOTHING_TO_DISCARD = 'None of these is dead: there is nothing to discard.'

/** An id that was mistyped must not pass for a letter that is dealt with already. */
async function requireThere(client: Client, service: string, selection: LetterSelection): Promise<void> {
  if (selection.by !== 'ids') return
  const missing = await findMissing(client, service, selection.ids)
  if (missing.length === 0) return
  const names = missing.map((id) => `${service}/${id}`).join(', ')
  throw new CliError(
    `There is no dead letter ${names}. Nothing was done; nextvisit dead-letters list --all names all there are.`,
  )
}
