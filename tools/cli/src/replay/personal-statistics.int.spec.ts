import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { encodeRecord } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, organizationConfig, userIdFixture } from '@nextvisit/contracts/fixtures'
import type { Consumer } from '@nextvisit/consumer'
import { createPublisher } from '@nextvisit/log'
import { consumers } from '@nextvisit/services'
import { createTestTopic, testSealOf, PATIENT_REQUESTS } from '@nextvisit/testing'
import { expect, inject, it } from 'vitest'
import { givenReplay, onTopic, publishTestKeys } from '../../test/given-replay.ts'
import { consumerNamed } from '../environment/consumer-database.ts'

const USERS = 30
const SOON = { timeout: 30_000 }
const WORD = 'canary'
/** pg_stats shows bytea in hex. */
const IN_HEX = Buffer.from(WORD).toString('hex')

const CATALOG = staticCatalog([
  organizationConfig({
    id: 'acme',
    projects: [
      {
        id: 'shop',
        segments: [{ id: 'paying', where: { trait: 'plan', is: 'pro' } }],
        forms: [
          { id: 'nps', triggers: [{ event: 'Checkout Completed' }] },
          { id: 'ces', triggers: [{ event: 'Checkout Completed' }], audience: { trait: 'plan', is: 'pro' } },
        ],
      },
    ],
  } as never),
])

/** Returns records whose values all contain the word, and others that are no JSON. */
function givenRecords() {
  return Array.from({ length: USERS }, (_, nth) => {
    const userName = `${WORD}-${nth}`
    const traits = { plan: `${WORD} trait`, code: `${WORD} trait ${nth}` }
    const device = { $browser: WORD, $deviceId: `${WORD} ${nth}` }
    const facts = [
      identifyRequested({ userName, source: 'sdk', operations: { set: traits }, device, keyed: true }),
      eventTracked({ userName, properties: { coupon: WORD }, keyed: true }),
    ]
    return [
      ...facts.map((fact) => ({
        key: fact.userId,
        ...encodeRecord(fact, {
          source: 'test',
          time: fact.received,
          replyTo: 'nextvisit:replies:test',
          seal: testSealOf(fact.userId),
        }),
      })),
      { key: userIdFixture(userName), value: `{"${WORD}":${nth}`, headers: { 'schema-version': '1', note: WORD } },
    ]
  }).flat()
}

async function givenFolded(consumer: Consumer) {
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'))
  const publisher = createPublisher(connection, PATIENT_REQUESTS)
  await publisher.start()
  const records = givenRecords()
  await publishTestKeys(
    connection,
    publisher,
    records.map(({ key }) => key),
  )
  const deadline = performance.now() + 20_000
  for (const record of records)
    expect(await publisher.publish({ topic, partition: 0, ...record }, deadline)).toMatchObject({
      outcome: 'published',
    })
  await publisher.stop(1_000)
  const given = await givenReplay(onTopic(consumer, topic), { connection, catalog: CATALOG })
  await given.startLive()
  const readFolded = async () =>
    (
      await given.asAdmin(
        `SELECT max(next_offset)::int AS next FROM ${consumer.schema}.checkpoints WHERE topic = '${topic}'`,
      )
    ).rows
  await expect.poll(readFolded, SOON).toEqual([{ next: records.length }])
  return { ...given, schema: consumer.schema }
}

/** Returns the columns of all schemas whose statistics contain the word. */
async function readExposed(asAdmin: Awaited<ReturnType<typeof givenFolded>>['asAdmin']): Promise<readonly object[]> {
  await asAdmin('ANALYZE')
  const { rows } = await asAdmin(`
    SELECT schemaname || '.' || tablename || '.' || attname AS exposed FROM pg_stats
    WHERE pg_stats::text ILIKE '%${WORD}%' OR pg_stats::text ILIKE '%${IN_HEX}%'`)
  return rows
}

it.each(consumers)('statistics of $name contain no value of a person or record', async (consumer) => {
  const { asAdmin, schema } = await givenFolded(consumer)
  const { rows } = await asAdmin(`SELECT key, value FROM ${schema}.dead_letters`)
  // For the user eraser, records of other topics are unreadable, too.
  expect(rows.length).toBeGreaterThanOrEqual(USERS)
  expect(await readExposed(asAdmin)).toEqual([])
  const { rows: analyzed } = await asAdmin(`SELECT FROM pg_stats WHERE schemaname = '${schema}'`)
  expect(analyzed.length).toBeGreaterThan(0)
})

it('statistics of rebuilt tables contain none, either', async () => {
  const { asAdmin, replay, schema } = await givenFolded(consumerNamed('user-projector'))
  const exposed: (readonly object[])[] = []
  const onStep = async (step: string): Promise<void> => {
    if (step === 'swap') exposed.push(await readExposed(asAdmin))
  }
  expect(await replay({}, { onStep })).toMatchObject({ outcome: 'swapped' })
  expect(exposed).toEqual([[]])
  const { rows } = await asAdmin(`SELECT user_name FROM ${schema}.users`)
  expect(rows).toHaveLength(USERS)
  expect(await readExposed(asAdmin)).toEqual([])
})
