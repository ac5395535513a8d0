import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BrokerResponse, deleteRecords, fetchApiKey, heartbeatApiKey, until } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { givenMember, givenUnstartedMember, numbers, valuesOf } from '../../test/given-member.ts'
import { givenConnection, givenFaultProxy, givenPublisher, givenRecords, givenTopic } from '../../test/given-topic.ts'
import { givenTwoBrokers, notLeaderOf, withRefusal } from '../../test/given-two-brokers.ts'
import { withLogAdmin } from '../admin/with-log-admin.ts'
import type { FetchedBatch } from './fetched-batch.ts'
import type { Watermarks } from '../watermarks.ts'

/** Collects the log lines about losing a group. */
function givenLogger() {
  const lines: string[] = []
  const note = (_fields: object, line: string) => void (line.includes('the consumer group') && lines.push(line))
  return { lines, logger: { info: note, warn: note, error: note, debug: note } }
}

const LOST = 'Lost the consumer group; rejoining'
const REJOINED = 'Rejoined the consumer group'

describe('group readers of one group', () => {
  it('lose no record when members join and leave, and read from no wrong position', async () => {
    const topic = await givenTopic(4)
    const groupId = `log-spec.${randomUUID()}`
    /** Checkpoints as in Postgres: only a batch that begins at one moves it. */
    const checkpoints = new Map([0, 1, 2, 3].map((partition) => [partition, 0n]))
    const folded = new Map<number, string[]>([0, 1, 2, 3].map((partition) => [partition, []]))
    const gaps: FetchedBatch[] = []
    const onBatch = async (batch: FetchedBatch): Promise<void> => {
      await sleep(5)
      const checkpoint = checkpoints.get(batch.partition)!
      if (batch.fetchedFrom > checkpoint) gaps.push(batch)
      const fresh = batch.records.filter(({ offset }) => offset >= checkpoint)
      folded.get(batch.partition)?.push(...fresh.map(({ value }) => String(value)))
      if (batch.nextOffset > checkpoint) checkpoints.set(batch.partition, batch.nextOffset)
    }
    const positions = async (_: string, watermarks: ReadonlyMap<number, Watermarks>) =>
      new Map([...watermarks.keys()].map((partition) => [partition, checkpoints.get(partition)!]))
    const settings = { topic, groupId, positions, onBatch, maxBatchRecords: 7, maxBytesPerPartition: 2_000 }

    const first = await givenMember(settings)
    const publishing = Promise.all(
      [0, 1, 2, 3].map(async (partition) => {
        for (let from = 0; from < 1_000; from += 50) await givenRecords(topic, partition, numbers(from, from + 50))
      }),
    )
    const second = await givenMember(settings)
    await until(() => [first, second].every(({ assigned }) => assigned.at(-1)?.length === 2))
    const shared = [first, second].flatMap(({ assigned }) => assigned.at(-1) ?? [])
    expect(new Set(shared)).toEqual(new Set([0, 1, 2, 3]))
    const third = await givenMember(settings)
    await until(() => third.batches.length > 3)
    await third.reader.stop()
    await second.reader.stop()
    await publishing
    await until(() => [...checkpoints.values()].every((checkpoint) => checkpoint === 1_000n))

    expect(first.assigned.at(-1)).toEqual([0, 1, 2, 3])
    expect(gaps).toEqual([])
    expect([...folded.values()]).toEqual([0, 1, 2, 3].map(() => numbers(0, 1_000)))
    expect([first, second, third].flatMap(({ crashes }) => crashes)).toEqual([])
    // The second member took over partitions for some time.
    expect(second.batches.length).toBeGreaterThan(0)
  })

  it('report an empty assignment when there are more members than partitions', async () => {
    const topic = await givenTopic(1)
    const groupId = `log-spec.${randomUUID()}`
    const first = await givenMember({ topic, groupId })
    const second = await givenMember({ topic, groupId })
    await until(() => first.assigned.length + second.assigned.length >= 3)
    expect([first, second].flatMap(({ assigned }) => assigned.at(-1))).toEqual([0])
    expect([first.assigned.at(-1), second.assigned.at(-1)]).toContainEqual([])
  })

  it('rejoin after their connections are cut and refused for seconds', async () => {
    const topic = await givenTopic(1)
    await givenRecords(topic, 0, numbers(0, 20))
    const { proxy, connection } = await givenFaultProxy()
    let cuts = 0
    proxy.onResponse(({ apiKey, bytes }) =>
      apiKey === fetchApiKey && bytes > 200 && cuts++ < 3 ? { cutAfterBytes: 100 } : 'pass',
    )
    const { lines, logger } = givenLogger()
    const { batches, crashes } = await givenMember({ topic, connection, logger })
    await until(() => valuesOf(batches, 0).length === 20)
    proxy.setLink('refuse')
    await givenRecords(topic, 0, numbers(20, 40))
    await until(() => lines.includes(LOST))
    proxy.setLink('open')
    await until(() => valuesOf(batches, 0).length === 40)
    expect(valuesOf(batches, 0)).toEqual(numbers(0, 40))
    expect({ crashes, cut: proxy.struck().cut }).toEqual({ crashes: [], cut: 3 })
    await until(() => lines.at(-1) === REJOINED)
  })

  it('rejoin once heartbeats have stayed unanswered for a session', async () => {
    const topic = await givenTopic(1)
    const { proxy, connection } = await givenFaultProxy()
    const { lines, logger } = givenLogger()
    const { batches, assigned, crashes } = await givenMember({ topic, connection, logger })
    await until(() => assigned.length > 0)
    proxy.onResponse(({ apiKey }) => (apiKey === heartbeatApiKey ? 'lose' : 'pass'))
    await until(() => lines.includes(LOST)) // a session lasts 6 s
    proxy.onResponse(() => 'pass')
    await until(() => lines.at(-1) === REJOINED)
    await givenRecords(topic, 0, ['new'])
    await until(() => batches.length > 0)
    expect({ assigned, crashes }).toEqual({ assigned: [[0], [], [0]], crashes: [] })
  })

  it('stay members when a connection hangs and new connections do not', async () => {
    const topic = await givenTopic(1)
    const { proxy, connection } = await givenFaultProxy()
    const { batches, assigned, crashes } = await givenMember({ topic, connection })
    await until(() => assigned.length > 0)
    proxy.setLink('black-hole')
    proxy.setLink('open')
    let heartbeats = 0
    proxy.onResponse(({ apiKey }) => {
      if (apiKey === heartbeatApiKey) heartbeats += 1
      return 'pass'
    })
    await until(() => heartbeats > 5)
    await givenRecords(topic, 0, ['new'])
    await until(() => batches.length > 0)
    expect({ assigned, crashes }).toEqual({ assigned: [[0]], crashes: [] })
  })

  it('rejoin without a crash if they are lost while they locate their positions', async () => {
    const topic = await givenTopic(1)
    await givenRecords(topic, 0, numbers(0, 5))
    const { proxy, connection } = await givenFaultProxy()
    const { lines, logger } = givenLogger()
    const isLost = Promise.withResolvers<void>()
    let asked = 0
    const positions = async (): Promise<ReadonlyMap<number, bigint>> => {
      asked += 1
      if (asked === 1) await isLost.promise
      return new Map([[0, 0n]])
    }
    proxy.onResponse(({ apiKey }) => (apiKey === heartbeatApiKey ? 'lose' : 'pass'))
    const { batches, crashes } = await givenMember({ topic, connection, logger, positions })
    await until(() => lines.includes(LOST))
    proxy.onResponse(() => 'pass')
    isLost.reject(new Error('The member is stopping'))
    await until(() => valuesOf(batches, 0).length === 5)
    expect(crashes).toEqual([])
  })

  it('leave no member behind when they stop while they wait to join', async () => {
    const topic = await givenTopic(3)
    const groupId = `log-spec.${randomUUID()}`
    const { proxy, connection } = await givenFaultProxy()
    const hung = await givenMember({ topic, groupId, connection: { ...connection, clientId: 'hung' } })
    const rejoining = await givenMember({ topic, groupId, connection: { ...givenConnection(), clientId: 'rejoining' } })
    await until(() => [hung, rejoining].every(({ assigned }) => (assigned.at(-1)?.length ?? 0) > 0))
    const joining = givenUnstartedMember({ topic, groupId, connection: { ...givenConnection(), clientId: 'joining' } })

    await withLogAdmin(givenConnection(), async (admin) => {
      const clientsIn = async () => (await admin.describeGroup(groupId)).members.map(({ clientId }) => clientId)
      // The coordinator waits for this member until its session ends.
      proxy.setLink('black-hole')
      const starting = joining.reader.start().catch(() => {})
      await expect.poll(clientsIn).toContain('joining')
      await sleep(1_000) // the other member rejoins after a heartbeat
      await Promise.all([joining, rejoining].map(({ reader }) => reader.stop()))
      // The hung member itself stays until its session ends.
      expect((await clientsIn()).filter((clientId) => clientId !== 'hung')).toEqual([])
      await starting
    })
  })

  it.each([
    ['an unknown error', -1],
    ['damaged records', 2],
    ['a failed disk', 56],
  ])('read at full speed while the broker refuses another partition because of %s', async (_, errorCode) => {
    const topic = await givenTopic(2)
    const { proxy, connection } = await givenFaultProxy()
    let refusals = 0
    const refuse = ({ apiKey, frame }: BrokerResponse) => {
      const fault = apiKey === fetchApiKey ? withRefusal(frame, 0, errorCode) : undefined
      if (fault) refusals += 1
      return fault ?? 'pass'
    }
    proxy.onResponse(refuse)
    await givenRecords(topic, 0, ['refused at first'])
    const { batches, crashes } = await givenMember({ topic, connection })
    const publisher = await givenPublisher(givenConnection())
    for (const [index, value] of numbers(0, 30).entries()) {
      await publisher.publish({ topic, partition: 1, key: value, value, headers: {} }, performance.now() + 30_000)
      await until(() => valuesOf(batches, 1).length === index + 1)
    }
    // Each record takes a fetch. A reader that does not leave out the partition is refused as often.
    expect(refusals).toBeLessThan(20)
    proxy.onResponse(() => 'pass')
    await until(() => valuesOf(batches, 0).length === 1)
    expect(crashes).toEqual([])
  })

  it('report a partition that the broker keeps refusing, do not crash without a handler, and read it once it is served', async () => {
    const topic = await givenTopic(1)
    const { proxy, connection } = await givenFaultProxy()
    proxy.onResponse(({ apiKey, frame }) => (apiKey === fetchApiKey ? withRefusal(frame, 0, 56) : undefined) ?? 'pass')
    const unreadable: unknown[] = []
    const onUnreadable = (_topic: string, partition: number, error: Error) => void unreadable.push({ partition, error })
    let refusals = 0
    const note = (_fields: object, line: string) => void (line === 'Cannot fetch; retrying' && (refusals += 1))
    const logger = { info: note, warn: note, error: note, debug: note }
    const [reporting, other] = await Promise.all([
      givenMember({ topic, connection, onUnreadable, maxWaitMs: 100 }),
      givenMember({ topic, connection, logger, maxWaitMs: 100 }),
    ])
    await until(() => unreadable.length > 0 && refusals > 16, 30_000) // refusals are reported after 15
    proxy.onResponse(() => 'pass')
    await givenRecords(topic, 0, ['new'])
    await until(() => [reporting, other].every(({ batches }) => batches.length > 0))
    expect(unreadable[0]).toMatchObject({ partition: 0, error: { code: 'PARTITION_REFUSED', retryable: true } })
    expect([reporting, other].flatMap(({ crashes }) => crashes)).toEqual([])
  })

  it('read the other partitions during a slow batch and stay members', async () => {
    const topic = await givenTopic(3)
    const { promise: isDone, resolve: finish } = Promise.withResolvers<void>()
    const onBatch = ({ partition }: FetchedBatch) => (partition === 1 ? isDone : Promise.resolve())
    await givenRecords(topic, 1, numbers(0, 5))
    const { batches, assigned, crashes } = await givenMember({ topic, onBatch })
    for (let from = 0; from < 40; from += 10) {
      await givenRecords(topic, 0, numbers(from, from + 10))
      await givenRecords(topic, 2, numbers(from, from + 10))
      await until(() => valuesOf(batches, 0).length + valuesOf(batches, 2).length === 2 * (from + 10))
      await sleep(2_000) // in total longer than the session timeout
    }
    await givenRecords(topic, 1, numbers(5, 10))
    expect(valuesOf(batches, 1)).toEqual([])
    finish()
    await until(() => valuesOf(batches, 1).length === 10)
    expect(valuesOf(batches, 1)).toEqual(numbers(0, 10))
    expect({ assigned, crashes }).toEqual({ assigned: [[0, 1, 2]], crashes: [] })
  })

  it('read the other partitions after one becomes unreadable', async () => {
    const topic = await givenTopic(2)
    await givenRecords(topic, 0, numbers(0, 5))
    const deleted = Promise.withResolvers<void>()
    const lost: unknown[] = []
    let handed = 0
    const { batches, crashes } = await givenMember({
      topic,
      onBatch: ({ partition }) => {
        handed += 1
        return partition === 0 ? deleted.promise : Promise.resolve()
      },
      onUnreadable: (_, partition, error) => void lost.push({ partition, error }),
    })
    await until(() => handed > 0)
    await givenRecords(topic, 0, numbers(5, 50))
    await deleteRecords(givenConnection(), topic, { partition: 0, before: 20 })
    deleted.resolve()
    await until(() => lost.length > 0)
    await givenRecords(topic, 1, numbers(0, 5))
    await until(() => valuesOf(batches, 1).length === 5)
    expect(lost).toMatchObject([{ partition: 0, error: { code: 'POSITION_OUTSIDE_LOG' } }])
    expect(valuesOf(batches, 0)).toEqual(numbers(0, 5))
    expect(crashes).toEqual([])
  })

  it('own a partition without a position but do not read it', async () => {
    const topic = await givenTopic(2)
    await givenRecords(topic, 0, numbers(0, 5))
    const { batches, assigned, crashes } = await givenMember({ topic, positions: async () => new Map([[1, 0n]]) })
    await givenRecords(topic, 1, numbers(0, 5))
    await until(() => valuesOf(batches, 1).length === 5)
    await sleep(500)
    expect({ assigned, crashes, unread: valuesOf(batches, 0) }).toEqual({ assigned: [[0, 1]], crashes: [], unread: [] })
  })

  it('get a large record without delay while other partitions are busy', async () => {
    const topic = await givenTopic(8)
    const { batches } = await givenMember({ topic, onBatch: () => sleep(20) })
    const fetchesOf = (partition: number) => batches.filter((batch) => batch.partition === partition).length
    const publisher = await givenPublisher(givenConnection())
    const publish = (partition: number, value: string) =>
      publisher.publish({ topic, partition, key: 'a', value, headers: {} }, performance.now() + 30_000)

    for (let large = 1; large <= 10; large += 1) {
      await publish(7, 'x'.repeat(800_000))
      while (fetchesOf(7) < large)
        await Promise.all([0, 1, 2, 3, 4, 5, 6].map((partition) => publish(partition, 'small')))
    }
    // A broker that omits too large a record returns it in one of eight fetches.
    expect(fetchesOf(0)).toBeLessThan(30)
  })
})

describe('a group reader of two brokers', () => {
  it('continues from the new leaders when its partitions move, without a rebalance', async () => {
    const brokers = await givenTwoBrokers([0, 1])
    const topic = await givenTopic(2)
    const { batches, assigned, crashes } = await givenMember({ topic, connection: brokers.connection })
    for (const partition of [0, 1]) await givenRecords(topic, partition, numbers(0, 5))
    await until(() => valuesOf(batches, 0).length + valuesOf(batches, 1).length === 10)

    const fetched = new Set<number>()
    brokers.moveLeaders([1, 0])
    brokers.onFetch((nodeId, frame) => {
      if (fetched.has(nodeId)) return 'pass'
      fetched.add(nodeId)
      return notLeaderOf(topic, [nodeId], frame)
    })
    for (const partition of [0, 1]) await givenRecords(topic, partition, numbers(5, 10))
    await until(() => valuesOf(batches, 0).length + valuesOf(batches, 1).length === 20)
    expect([0, 1].map((partition) => valuesOf(batches, partition))).toEqual([numbers(0, 10), numbers(0, 10)])
    expect({ fetched: fetched.size, assigned, crashes }).toEqual({ fetched: 2, assigned: [[0, 1]], crashes: [] })
  })

  it('continues from the other broker when one is lost', async () => {
    const brokers = await givenTwoBrokers([0, 1])
    const topic = await givenTopic(2)
    const { batches, crashes } = await givenMember({ topic, connection: brokers.connection })
    for (const partition of [0, 1]) await givenRecords(topic, partition, numbers(0, 5))
    await until(() => valuesOf(batches, 0).length + valuesOf(batches, 1).length === 10)
    brokers.setLink(0, 'refuse')
    await sleep(500) // fetches fail
    brokers.moveLeaders([1, 1])
    for (const partition of [0, 1]) await givenRecords(topic, partition, numbers(5, 10))
    await until(() => valuesOf(batches, 0).length + valuesOf(batches, 1).length === 20)
    expect([0, 1].map((partition) => valuesOf(batches, partition))).toEqual([numbers(0, 10), numbers(0, 10)])
    expect(crashes).toEqual([])
  })
})
