import { eventTracked, identifyRequested, userErased } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { createPublisher } from '@nextvisit/log'
import { userConsumers } from '@nextvisit/services'
import { createTestTopic, factsAsRecords, PATIENT_REQUESTS } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished } from 'vitest'
import { givenReplay, onTopic } from '../../test/given-replay.ts'

const SOON = { timeout: 30_000 }
/** Tables that have rows without any record of a user. */
const OF_THE_CONSUMER = ['_prisma_migrations', 'checkpoints', 'dead_letters']

/** Starts the consumer over records of ada, which another program wrote with their personal members in clear. */
async function givenRecordsInClear(consumer: (typeof userConsumers)[number]) {
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'))
  const publisher = createPublisher(connection, PATIENT_REQUESTS)
  await publisher.start()
  onTestFinished(() => publisher.stop(1_000))
  const publish = async (fact: { readonly userId: string }, headers: Readonly<Record<string, string>>) => {
    const record = { topic, partition: 0, key: fact.userId, value: JSON.stringify(fact), headers }
    expect(await publisher.publish(record, performance.now() + 20_000)).toMatchObject({ outcome: 'published' })
  }
  const facts = [
    identifyRequested({ source: 'sdk', operations: { set: { plan: 'canary' } } }),
    eventTracked({ properties: { coupon: 'canary' } }),
  ]
  for (const [index, { headers }] of factsAsRecords(facts).entries())
    await publish(facts[index] as (typeof facts)[number], headers)
  const { db, startLive } = await givenReplay(onTopic(consumer, topic), { connection })
  await startLive()

  return {
    erase: async () => {
      const erased = userErased()
      for (const { headers } of factsAsRecords([erased])) await publish(erased, headers)
    },
    readLetters: () =>
      db.$queryRaw<object[]>(sql`
        SELECT reason, state, convert_from(value, 'UTF8') LIKE '%canary%' AS "isKept" FROM dead_letters ORDER BY "offset"`),
    readFilledTables: async () => {
      const tables = await db.$queryRaw<{ name: string }[]>(sql`
        SELECT table_name AS name FROM information_schema.tables
        WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' AND query_to_xml(
          format('SELECT 1 FROM %I.%I LIMIT 1', table_schema, table_name), false, true, '')::text <> ''`)
      return tables.map(({ name }) => name).filter((name) => !OF_THE_CONSUMER.includes(name))
    },
  }
}

it.each(userConsumers)(
  'records with personal members in clear are dead letters of $name, which folds nothing of them, and an erasure deletes their bytes',
  async (consumer) => {
    const { erase, readLetters, readFilledTables } = await givenRecordsInClear(consumer)
    await expect.poll(readLetters, SOON).toMatchObject([
      { reason: expect.stringMatching(/^sealed: /), isKept: true },
      { reason: 'properties: must be sealed', isKept: true },
    ])
    expect(await readFilledTables()).toEqual([])
    await erase()
    await expect.poll(readLetters, SOON).toMatchObject([{ isKept: null }, { isKept: null }])
  },
)
