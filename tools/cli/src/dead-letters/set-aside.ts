import { setTimeout as sleep } from 'node:timers/promises'
import { askToSetAside, type LetterPlace, readDeadLetterAt } from '@nextvisit/consumer'
import { type Query, queryOn } from '@nextvisit/database'
import type { Environment } from '@nextvisit/service-kit'
import { operatingUser } from '../config.ts'
import { consumerNamed, inConsumerDatabase } from '../consumer-database.ts'
import { CliError, EXIT } from '../errors.ts'
import { print } from '../output.ts'

/** A place in the log, as typed. */
export interface SetAsidePlace {
  readonly service: string
  readonly topic: string
  readonly partition: string
  readonly offset: string
}

/** The owner looks once a second, and folds again at once. */
const WAIT_MS = 20_000
const LOOK_EVERY_MS = 250

/**
 * Asks the owner of a halted partition to make the record that it is halted at a dead letter, and waits until it has. Asking
 * twice changes nothing. Refuses an offset at which the partition is not halted.
 */
export async function setAsideRecord(
  env: Environment,
  place: SetAsidePlace,
  { wait }: { readonly wait: boolean },
): Promise<void> {
  const { service, topic, partition, offset } = place
  const where = `${topic}/${partition}`
  if (!/^\d{1,9}$/.test(partition)) throw new CliError(`${partition} is no partition.`, EXIT.usage)
  if (!/^\d{1,18}$/.test(offset)) throw new CliError(`${offset} is no offset.`, EXIT.usage)
  await inConsumerDatabase(env, consumerNamed(service), async (client) => {
    const query = queryOn(client)
    const halted = { projection: service, topic, partition: Number(partition), offset }
    const asked = await askToSetAside(query, halted, operatingUser())
    if (asked.outcome === 'refused') throw new CliError(`${asked.reason} Nothing was done.`)
    if (asked.outcome === 'dead-letter') return print(`It is a dead letter already: ${service}/${asked.id}.`)
    print(`The record at offset ${offset} of ${where} is to be set aside.`)
    if (!wait) return
    const letter = await awaitLetter(query, halted)
    if (letter === undefined) {
      throw new CliError(
        `${service} has not set it aside within ${WAIT_MS / 1_000} s: see that it runs (nextvisit status). It will, once it runs.`,
      )
    }
    print(`Set aside: ${service}/${letter}. The partition continues.`)
  })
}

async function awaitLetter(query: Query, place: LetterPlace): Promise<string | undefined> {
  const giveUpAt = performance.now() + WAIT_MS
  for (;;) {
    const letter = await readDeadLetterAt(query, place)
    if (letter || performance.now() > giveUpAt) return letter?.id
    await sleep(LOOK_EVERY_MS)
  }
}
