import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'

import { givenConnection, givenPublisher, givenTopic, readAll } from '../../test/given-topic.ts'
import { givenTwoBrokers, notLeader, type TwoBrokers } from '../../test/given-two-brokers.ts'
import { withLogAdmin } from '../admin/with-log-admin.ts'
import type { PublisherOptions } from './publisher.ts'
import type { PublishOutcome } from './publish-outcome.ts'

/**
 * Publishes one record to each of two partitions in one request, then one more. Broker 1 appends its record and answers that it
 * does not lead the partition; from then on, each broker leads the other's partition.
 */
async function publishWhileLeadersMove(
  { connection, moveLeaders, onProduce }: TwoBrokers,
  answerOfBroker0: 'pass' | 'lose',
  options: PublisherOptions,
): Promise<{ outcomes: readonly PublishOutcome[]; valuesInLog: readonly (readonly string[])[] }> {
  const topic = await givenTopic(2)
  const answers = [0, 0]
  onProduce((nodeId, frame) => {
    answers[nodeId]! += 1
    if (answers[nodeId] !== 1) return 'pass'
    if (nodeId === 0) return answerOfBroker0
    moveLeaders([1, 0])
    return notLeader(frame)
  })
  const publisher = await givenPublisher(connection, options)
  const publish = (value: string): Promise<readonly PublishOutcome[]> =>
    Promise.all(
      [0, 1].map((partition) =>
        publisher.publish({ topic, partition, key: value, value, headers: {} }, performance.now() + 20_000),
      ),
    )
  const outcomes = [...(await publish('first')), ...(await publish('second'))]
  const records = await readAll(topic, 2)
  const valuesOf = (of: number) => records.filter(({ partition }) => partition === of).map(({ value }) => String(value))
  return { outcomes, valuesInLog: [valuesOf(0), valuesOf(1)] }
}

const onceEach = {
  outcomes: [0n, 0n, 1n, 1n].map((offset) => ({ outcome: 'published', offset })),
  valuesInLog: [
    ['first', 'second'],
    ['first', 'second'],
  ],
}

describe('a producer whose partitions change leaders before it repeats a request', () => {
  it('omits the records that the other broker has acknowledged', async () => {
    const brokers = await givenTwoBrokers([0, 1])
    expect(await publishWhileLeadersMove(brokers, 'pass', { requestTimeoutMs: 10_000 })).toEqual(onceEach)
  })

  it('waits for the request in flight, then repeats unanswered records with their sequence', async () => {
    const brokers = await givenTwoBrokers([0, 1])
    expect(await publishWhileLeadersMove(brokers, 'lose', { requestTimeoutMs: 4_000 })).toEqual(onceEach)
  })
})

describe('a producer with one acknowledged partition in its request', () => {
  it('returns an unknown outcome only for the partition whose broker does not answer', async () => {
    const { connection, onProduce } = await givenTwoBrokers([0, 1])
    onProduce((nodeId) => (nodeId === 0 ? 'lose' : 'pass'))
    const topic = await givenTopic(2)
    const publisher = await givenPublisher(connection, { requestTimeoutMs: 1_000 })
    const outcomes = await Promise.all(
      [0, 1].map((partition) =>
        publisher.publish({ topic, partition, key: 'a', value: 'a', headers: {} }, performance.now() + 20_000),
      ),
    )
    expect(outcomes).toMatchObject([
      { outcome: 'unknown', cause: { code: 'REQUEST_OVERDUE' } },
      { outcome: 'published', offset: 0n },
    ])
  })

  it('publishes the other partitions when the broker refuses one', async () => {
    const topic = await givenTopic(1)
    const strict = `log-spec.${randomUUID()}`
    const config = { 'max.message.bytes': '1000' }
    await withLogAdmin(givenConnection(), (admin) => admin.createTopic(strict, { partitions: 1, config }))
    const publisher = await givenPublisher(givenConnection())
    const publish = (to: string, value: string) =>
      publisher.publish({ topic: to, partition: 0, key: 'a', value, headers: {} }, performance.now() + 20_000)
    const large = 'x'.repeat(2_000)
    expect(await Promise.all([publish(strict, large), publish(topic, large)])).toMatchObject([
      { outcome: 'not-published', reason: 'refused', cause: { code: 'PARTITION_REFUSED' } },
      { outcome: 'published', offset: 0n },
    ])
    expect(await Promise.all([publish(strict, 'small'), publish(topic, 'small')])).toMatchObject([
      { outcome: 'published', offset: 0n },
      { outcome: 'published', offset: 1n },
    ])
  })
})
