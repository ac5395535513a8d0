import { randomUUID } from 'node:crypto'
import { encodeRecord, type ErasureFact } from '@nextvisit/contracts'
import { createPublisher, type LogConnection, type Publisher } from '@nextvisit/log'
import { createTestTopic, startFaultProxy } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished } from 'vitest'
import { createErasureView } from './erasure-view.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} }
const place = { organization: 'acme', project: 'shop' }

async function givenPublisher(connection: LogConnection, topic: string) {
  const publisher = createPublisher(connection)
  await publisher.start()
  onTestFinished(() => publisher.stop(1_000))
  const publish = (record: Pick<Parameters<Publisher['publish']>[0], 'value' | 'headers'>) =>
    publisher.publish({ topic, partition: 0, key: 'key', ...record }, performance.now() + 10_000)
  return {
    publish,
    publishFact: async (fact: ErasureFact) => {
      const { outcome } = await publish(encodeRecord(fact, { source: 'spec', time: new Date().toISOString() }))
      expect(outcome).toBe('published')
    },
  }
}

function suppressing(userId: string): ErasureFact {
  const received = new Date().toISOString()
  const id = randomUUID()
  return { type: 'ErasureRequested', id, ...place, received, userIds: [userId], unknown: 0, suppress: true }
}

it('a view of the erasures knows what came before its start, and a new record within a second', async () => {
  const { connection, topic } = await createTestTopic(inject('kafkaBrokers'))
  const { publishFact } = await givenPublisher(connection, topic)
  const [before, after] = [randomUUID(), randomUUID()]
  await publishFact(suppressing(before))
  const view = createErasureView(connection, { logger: silent, topic })
  expect(view.currentAsOfMs()).toBe(0)
  await view.start()
  onTestFinished(view.stop)
  await expect.poll(view.currentAsOfMs, { timeout: 10_000 }).toBeGreaterThan(0)
  expect(view.isSuppressed({ ...place, userId: before })).toBe(true)

  await publishFact(suppressing(after))
  await expect.poll(() => view.isSuppressed({ ...place, userId: after }), { timeout: 1_000, interval: 5 }).toBe(true)
  expect(view.keysUntilOf(after)).toBeGreaterThan(Date.now())
  expect(await view.passes(1n, 1_000)).toBe(true)
  expect(await view.passes(2n, 50)).toBe(false)
})

it('a view answers from memory while Kafka is unavailable, reports that it is not current, and continues afterwards', async () => {
  const { connection, topic } = await createTestTopic(inject('kafkaBrokers'))
  const { publishFact } = await givenPublisher(connection, topic)
  const [before, during] = [randomUUID(), randomUUID()]
  await publishFact(suppressing(before))
  const { proxy, connection: proxied } = await startFaultProxy(connection)
  onTestFinished(() => proxy.stop())
  const view = createErasureView(proxied, { logger: silent, topic })
  await view.start()
  onTestFinished(view.stop)
  await expect.poll(view.currentAsOfMs, { timeout: 10_000 }).toBeGreaterThan(0)

  proxy.setLink('refuse')
  proxy.cutAll()
  const cutAtMs = performance.now()
  await publishFact(suppressing(during))
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  expect(view.isSuppressed({ ...place, userId: before })).toBe(true)
  expect(view.isSuppressed({ ...place, userId: during })).toBe(false)
  expect(view.currentAsOfMs()).toBeLessThanOrEqual(cutAtMs)
  proxy.setLink('open')
  await expect.poll(() => view.isSuppressed({ ...place, userId: during }), { timeout: 20_000 }).toBe(true)
})

it('a view passes a record that it cannot read, and counts it', async () => {
  const { connection, topic } = await createTestTopic(inject('kafkaBrokers'))
  const { publish, publishFact } = await givenPublisher(connection, topic)
  const userId = randomUUID()
  await publish({ value: '{"type":"ErasureRequested"}', headers: { 'schema-version': '1' } })
  await publish({ value: 'no JSON', headers: {} })
  await publishFact(suppressing(userId))
  const view = createErasureView(connection, { logger: silent, topic })
  await view.start()
  onTestFinished(view.stop)
  await expect.poll(() => view.isSuppressed({ ...place, userId }), { timeout: 10_000 }).toBe(true)
  expect(view.skipped()).toBe(2)
})
