import { randomUUID } from 'node:crypto'
import { consumerGroupOf } from '@nextvisit/contracts'
import { createGroupReader } from '@nextvisit/log'
import { createTestTopic } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished } from 'vitest'
import { createCountMembers } from './group-members.ts'

it('counts the processes in the group of a consumer, whether the console knows their addresses or not', async () => {
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'), { partitions: 2 })
  const service = `spec-${randomUUID()}`
  for (const clientId of ['one', 'two']) {
    const options = { groupId: consumerGroupOf(service), topics: [topic] }
    const handlers = { positions: async () => new Map(), onBatch: async () => undefined, onCrash: () => undefined }
    const reader = createGroupReader({ ...connection, clientId }, options, handlers)
    await reader.start()
    onTestFinished(reader.stop)
  }
  await expect.poll(() => createCountMembers(connection)(service), { timeout: 20_000 }).toBe(2)
})

it('the number is unknown while Kafka does not answer', async () => {
  const countMembers = createCountMembers({ brokers: ['127.0.0.1:1'], clientId: 'spec' })
  expect(await countMembers('metering')).toBeUndefined()
})
