import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@nextvisit/database'
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
    if (!(await ask(client, place))) {
      const letter = await readLetterId(client, place)
      if (letter === undefined) throw new CliError(`${await describeHalt(client, place)} Nothing was done.`)
      return print(`It is a dead letter already: ${service}/${letter}.`)
    }
    print(`The record at offset ${offset} of ${where} is to be set aside.`)
    if (!wait) return
    const letter = await awaitLetter(client, place)
    if (letter === undefined) {
      throw new CliError(
        `${service} has not set it aside within ${WAIT_MS / 1_000} s: see that it runs (nextvisit status). It will, once it runs.`,
      )
    }
    print(`Set aside: ${service}/${letter}. The partition continues.`)
  })
}

const AT_PLACE = 'projection = $1 AND topic = $2 AND partition = $3'
const IS_HALTED = `kind = 'halted' AND "offset" >= (SELECT next_offset FROM checkpoints WHERE ${AT_PLACE})`

/** False: the partition is not halted there. */
async function ask(client: Client, { service, topic, partition, offset }: SetAsidePlace): Promise<boolean> {
  const { rowCount } = await client.query(
    `UPDATE partition_alarms
     SET set_aside_by = coalesce(set_aside_by, $5), set_aside_at = coalesce(set_aside_at, now())
     WHERE ${AT_PLACE} AND ${IS_HALTED} AND "offset" = $4 AND record_id IS NOT NULL`,
    [service, topic, partition, offset, operatingUser()],
  )
  return rowCount === 1
}

async function readLetterId(
  client: Client,
  { service, topic, partition, offset }: SetAsidePlace,
): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id::text FROM dead_letters WHERE ${AT_PLACE} AND "offset" = $4`,
    [service, topic, partition, offset],
  )
  return rows[0]?.id
}

async function awaitLetter(client: Client, place: SetAsidePlace): Promise<string | undefined> {
  const giveUpAt = performance.now() + WAIT_MS
  for (;;) {
    const letter = await readLetterId(client, place)
    if (letter !== undefined || performance.now() > giveUpAt) return letter
    await sleep(LOOK_EVERY_MS)
  }
}

/** Why there is nothing to set aside at this offset. */
async function describeHalt(client: Client, { service, topic, partition, offset }: SetAsidePlace): Promise<string> {
  const { rows } = await client.query<{ offset: string; code: string; hasRecord: boolean }>(
    `SELECT "offset"::text, code, record_id IS NOT NULL AS "hasRecord" FROM partition_alarms
     WHERE ${AT_PLACE} AND ${IS_HALTED}`,
    [service, topic, partition],
  )
  const [halt] = rows
  if (!halt) return `${service} is not halted on ${topic}/${partition}.`
  if (!halt.hasRecord) return `${service} is halted on ${topic}/${partition} by ${halt.code}, not by a record.`
  return `${service} is halted on ${topic}/${partition} at offset ${halt.offset}, not at ${offset}.`
}
