import { randomUUID } from 'node:crypto'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { encodeRecord, type FormQueued } from '@nextvisit/contracts'
import { formQueued, organizationConfig, queueErased } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { createPublisher } from '@nextvisit/log'
import { createTestTopic, PATIENT_REQUESTS } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished } from 'vitest'
import { givenReplay, onTopic } from '../../test/given-replay.ts'
import { consumerNamed } from '../environment/consumer-database.ts'

const SOON = { timeout: 40_000 }

/** Starts the live dispatcher, without its sender, over its own log and with one endpoint of webhooks. */
async function givenDispatcher() {
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'))
  const webhooks = [{ id: 'crm', url: 'https://crm.example', secret: 'sealed', addedAt: new Date().toISOString() }]
  const catalog = staticCatalog([organizationConfig({ id: 'acme', projects: [{ id: 'shop', webhooks }] })])
  const described = onTopic(consumerNamed('webhook-dispatcher'), topic)
  const { db, replay, startLive } = await givenReplay(described, { connection, catalog })
  const publisher = createPublisher(connection, PATIENT_REQUESTS)
  await publisher.start()
  onTestFinished(() => publisher.stop(1_000))
  const publish = async (fact: FormQueued | ReturnType<typeof queueErased>): Promise<string> => {
    const encoded = encodeRecord(fact, { source: 'test', time: fact.at })
    const record = { topic, partition: 0, key: fact.userId, ...encoded }
    expect(await publisher.publish(record, performance.now() + 30_000)).toMatchObject({ outcome: 'published' })
    return fact.id
  }
  const queue = () => publish(formQueued({ queuedId: randomUUID(), id: randomUUID() }))
  await startLive()
  const isLive = () => db.$queryRaw<unknown[]>(sql`SELECT FROM positions WHERE is_live`)
  await expect.poll(isLive, SOON).toHaveLength(1)
  const delivered = async (): Promise<readonly string[]> => {
    const rows = await db.$queryRaw<{ readonly id: string }[]>(
      sql`SELECT webhook_id::text AS id FROM deliveries ORDER BY source_offset`,
    )
    return rows.map(({ id }) => id)
  }
  return { db, replay, publish, queue, delivered }
}

it('a replay of the dispatcher keeps its deliveries, and no record of the time of the swap is missing or there twice', async () => {
  const { db, replay, publish, queue, delivered } = await givenDispatcher()
  const sent = [await queue(), await queue()]
  await expect.poll(delivered, SOON).toEqual(sent)
  const [before] = await db.$queryRaw<object[]>(sql`SELECT to_jsonb(own) AS row FROM deliveries AS own LIMIT 1`)

  const over = new AbortController()
  const during = (async () => {
    while (!over.signal.aborted) sent.push(await queue())
  })()
  const { outcome, comparisons } = await replay()
  over.abort()
  await during
  expect(comparisons.filter(({ onlyLive, onlyRebuilt }) => onlyLive + onlyRebuilt > 0)).toEqual([])
  expect(outcome).toBe('swapped')
  expect(sent.length).toBeGreaterThan(10)
  sent.push(await queue())
  await expect.poll(delivered, SOON).toEqual(sent)
  expect(await db.$queryRaw(sql`SELECT to_jsonb(own) AS row FROM deliveries AS own`)).toContainEqual(before)

  // An erasure is folded after the swap as before: the log has its records, and they come no more.
  const erasure = await publish(queueErased({ at: '2100-01-01T00:00:00.000Z' }))
  await expect.poll(delivered, SOON).toEqual([erasure])
  expect((await replay()).outcome).toBe('swapped')
  expect(await delivered()).toEqual([erasure])
})
