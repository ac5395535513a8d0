import { setTimeout as sleep } from 'node:timers/promises'
import { userIdFixture } from '@nextvisit/contracts/fixtures'
import { createGroupReader, createPublisher, type ExpectedPartitions, type LogConnection } from '@nextvisit/log'
import { createDependencyLog, createLogger } from '@nextvisit/service-kit'
import { addPartitions, createTestTopic, startFaultProxy } from '@nextvisit/testing'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { createUserEventPublisher } from './user-event-publisher.ts'

const ADA = userIdFixture('ada')
const RUNBOOK = 'docs/runbooks/partitions.md'

async function givenTopic(partitions: number) {
  return createTestTopic(inject('kafkaBrokers'), { partitions })
}

/** Commits an offset as a consumer that expects this number of partitions. Its group has the name of the topic. */
async function givenFolded(connection: LogConnection, topic: string, partitions: ExpectedPartitions) {
  const publisher = createPublisher(connection)
  await publisher.start()
  onTestFinished(() => publisher.stop(1_000))
  const record = { topic, partition: 0, key: ADA, value: '{}', headers: {} }
  await publisher.publish(record, performance.now() + 10_000)
  const folded = Promise.withResolvers<void>()
  const reader = createGroupReader(
    { ...connection, partitions },
    { groupId: topic, topics: [topic] },
    {
      positions: async (_topic, marks) => new Map([...marks.keys()].map((partition) => [partition, 0n])),
      onBatch: async () => folded.resolve(),
      onCrash: folded.reject,
    },
  )
  await reader.start()
  await folded.promise
  await reader.stop()
}

async function startLog(connection: LogConnection, topic: string) {
  const publisher = createPublisher(connection)
  const log = createUserEventPublisher({
    connection,
    publisher,
    topic,
    keysTopic: topic,
    foldedBy: topic,
    logger: createLogger('spec', 'silent'),
    dependencies: createDependencyLog(createLogger('spec', 'silent')),
    onState: () => {},
  })
  await log.start()
  onTestFinished(log.stop)
  return log
}

const soon = { timeout: 20_000 }

describe('a gateway whose topic has another number of partitions (design.md, Known hazards)', () => {
  it('stops recording once partitions were added, and names the runbook', async () => {
    const { topic, connection } = await givenTopic(3)
    const log = await startLog(connection, topic)
    await expect.poll(() => log.partitionOf(ADA), soon).toBeDefined()
    await addPartitions(connection, topic, 6)
    await expect.poll(() => log.partitionOf(ADA), soon).toBeUndefined()
    expect(log.unavailableReason()).toBe(`${topic} has 6 partitions, not 3: see ${RUNBOOK}`)
  })

  it('counts partitions again after its connection was cut', async () => {
    const { topic, connection } = await givenTopic(3)
    const { proxy, connection: proxied } = await startFaultProxy(connection)
    onTestFinished(() => proxy.stop())
    const log = await startLog(proxied, topic)
    await expect.poll(() => log.partitionOf(ADA), soon).toBeDefined()
    proxy.cutAll()
    await addPartitions(connection, topic, 6)
    await expect.poll(() => log.partitionOf(ADA), soon).toBeUndefined()
  })

  it.each([2, 6])('records nothing from its start on if there are %i instead of three', async (found) => {
    const { topic, connection } = await givenTopic(found)
    const log = await startLog({ ...connection, partitions: { keyPartitions: 3, inTopic: 3 } }, topic)
    await expect.poll(log.unavailableReason, soon).toContain(RUNBOOK)
    await sleep(1_500)
    expect(log.partitionOf(ADA)).toBeUndefined()
  })

  it('records nothing if the configuration was changed with the topic, since consumers have folded otherwise', async () => {
    const { topic, connection } = await givenTopic(3)
    await givenFolded(connection, topic, { keyPartitions: 3, inTopic: 3 })
    await addPartitions(connection, topic, 6)
    const log = await startLog({ ...connection, partitions: { keyPartitions: 6, inTopic: 6 } }, topic)
    const reason = `the keys of ${topic} were spread over 3 partitions, and would now be over 6: see ${RUNBOOK}`
    await expect.poll(log.unavailableReason, soon).toBe(reason)
    expect(log.partitionOf(ADA)).toBeUndefined()
    const former = await startLog({ ...connection, partitions: { keyPartitions: 3, inTopic: 6 } }, topic)
    await expect.poll(() => former.partitionOf(ADA), soon).toBeDefined()
  })

  it('continues with the first partitions if an operator configured that', async () => {
    const { topic, connection } = await givenTopic(6)
    const [before, after] = [await givenTopic(3), { keyPartitions: 3, inTopic: 6 }]
    const log = await startLog({ ...connection, partitions: after }, topic)
    const former = await startLog(before.connection, before.topic)
    await expect.poll(() => log.partitionOf(ADA), soon).toBeDefined()
    await expect.poll(() => former.partitionOf(ADA), soon).toEqual(log.partitionOf(ADA))
  })
})
