import { describe, expect, it } from 'vitest'

import { givenPublisher, givenTopic, readAll } from '../../test/given-topic.ts'
import { givenTwoBrokers, notLeader, type TwoBrokers } from '../../test/given-two-brokers.ts'
import type { PublisherOptions } from './create-publisher.ts'
import type { PublishOutcome } from './publisher.ts'

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

describe('a request to two brokers whose partitions move before it is repeated', () => {
  it('leaves out what the other broker has acknowledged', async () => {
    const brokers = await givenTwoBrokers([0, 1])
    expect(await publishWhileLeadersMove(brokers, 'pass', { requestTimeoutMs: 10_000 })).toEqual(onceEach)
  })

  it('waits for what is in flight, then repeats what is unanswered with its sequence', async () => {
    const brokers = await givenTwoBrokers([0, 1])
    expect(await publishWhileLeadersMove(brokers, 'lose', { requestTimeoutMs: 4_000 })).toEqual(onceEach)
  })
})
