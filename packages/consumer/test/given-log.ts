import { encodeRecord, type UserFact } from '@nextvisit/contracts'
import { eventTracked, userIdFixture } from '@nextvisit/contracts/fixtures'
import { createPublisher, type LogConnection, partitionForKey, type Publisher, withLogAdmin } from '@nextvisit/log'
import { createTestTopic, startFaultProxy, testSealOf } from '@nextvisit/testing'
import { expect, inject, onTestFinished } from 'vitest'

export const PARTITIONS = 4
/** Long enough for a busy machine. */
const PUBLISH_WITHIN_MS = 30_000
export const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

/** Returns the partition of a user's facts. */
export function partitionOf(userName: string): number {
  return partitionForKey(userIdFixture(userName), PARTITIONS)
}

export interface GivenLog {
  readonly topic: string
  readonly connection: LogConnection
  readonly publisher: Publisher
  /** Publishes facts in order, then any values on ada's partition. */
  readonly publish: (facts: readonly UserFact[], values?: readonly string[]) => Promise<void>
}

/** Creates a topic for the example projection, and the topic that it publishes to. */
export async function givenLog(): Promise<GivenLog> {
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'), { partitions: PARTITIONS })
  await withLogAdmin(connection, (admin) => admin.createTopic(`${topic}.out`, { partitions: 1 }))
  const publisher = createPublisher(connection, { requestTimeoutMs: PUBLISH_WITHIN_MS / 2 })
  await publisher.start()
  onTestFinished(() => publisher.stop(1_000))

  const publish: GivenLog['publish'] = async (facts, values = []) => {
    const deadlineAt = performance.now() + PUBLISH_WITHIN_MS
    const records = facts.map((fact) => ({
      key: fact.userId,
      ...encodeRecord(fact, {
        source: 'test',
        time: fact.received,
        traceparent: TRACEPARENT,
        seal: testSealOf(fact.userId),
      }),
    }))
    const poison = values.map((value) => ({ key: userIdFixture('ada'), value, headers: { 'schema-version': '1' } }))
    const outcomes = await Promise.all(
      [...records, ...poison].map((record) =>
        publisher.publish({ topic, partition: partitionForKey(record.key, PARTITIONS), ...record }, deadlineAt),
      ),
    )
    expect(outcomes.filter(({ outcome }) => outcome !== 'published')).toEqual([])
  }

  return { topic, connection, publisher, publish }
}

/** Deletes a topic, and creates an empty one of the same name. */
export async function recreateTopic({ topic, connection }: Pick<GivenLog, 'topic' | 'connection'>): Promise<void> {
  await withLogAdmin(connection, async (admin) => {
    await admin.deleteTopic(topic)
    await expect.poll(() => admin.partitionCount(topic), { timeout: 20_000 }).toBe(0)
    await admin.createTopic(topic, { partitions: PARTITIONS })
  })
}

/** Starts a proxy before the broker that can lose answers, or refuse connections. */
export async function givenFaultProxy(connection: LogConnection) {
  const { proxy, connection: proxied } = await startFaultProxy(connection)
  onTestFinished(() => proxy.stop())
  return { proxy, connection: proxied }
}

/** Returns events of 20 users in turn, or of the users that the test names. */
export function givenEvents(count: number, userName = (index: number) => `user-${index % 20}`) {
  return Array.from({ length: count }, (_, index) =>
    eventTracked({ userName: userName(index), eventName: `Event ${index}` }),
  )
}
