import { answerCollectorCalls, encodeRecord, type FormFact, USER_KEYS_TOPIC } from '@nextvisit/contracts'
import { answerGiven, formAnswered, formDelivered, formQueued, queueErased } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { createPublisher } from '@nextvisit/log'
import { createTestTopic, testKeyOf, testSealOf, PATIENT_REQUESTS } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished } from 'vitest'
import { askConsumer } from '../../test/ask-consumer.ts'
import { givenReplay, onTopic, publishTestKeys } from '../../test/given-replay.ts'
import { consumerNamed } from '../environment/consumer-database.ts'

const SOON = { timeout: 40_000 }
const FORM = { organization: 'acme', project: 'shop', formId: 'nps', environment: 'P' } as const
const [ADA, BOB] = ['ada-with-answers', 'bob-with-answers']

/** Starts the live collector over its own log. */
async function givenCollector() {
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'))
  const collector = consumerNamed('answer-collector')
  const { db, replay, startLive } = await givenReplay(onTopic(collector, topic), { connection })
  const publisher = createPublisher(connection, PATIENT_REQUESTS)
  await publisher.start()
  onTestFinished(() => publisher.stop(1_000))
  const send = async (record: Parameters<typeof publisher.publish>[0]): Promise<void> => {
    const { outcome } = await publisher.publish(record, performance.now() + 30_000)
    expect(outcome).toBe('published')
  }
  const publish = async (...facts: readonly FormFact[]): Promise<void> => {
    for (const fact of facts) {
      const encoded = encodeRecord(fact, { source: 'test', time: fact.at, seal: testSealOf(fact.userId) })
      await send({ topic, partition: 0, key: fact.userId, ...encoded })
    }
  }
  const destroyKey = (userId: string): Promise<void> => {
    const { keyId } = testKeyOf(userId).wrapped
    return send({ topic: USER_KEYS_TOPIC, partition: 0, key: `${userId}/${keyId}`, value: null, headers: {} })
  }
  const userIds = [ADA, BOB].map((userName) => formQueued({ userName }).userId)
  const publishKeys = () => publishTestKeys(connection, publisher, userIds)
  await publishKeys()
  await startLive()
  return { db, replay, publish, publishKeys, destroyKey, asks: askConsumer(collector, answerCollectorCalls, db) }
}

function finishedOffer(userName: string, score: number): readonly FormFact[] {
  return [
    formQueued({ userName }),
    formDelivered({ userName }),
    formAnswered(answerGiven({ userName, elements: { score: 'nps' }, answers: { score } })),
  ]
}

it('a replay after an erasure keeps the counts of answers, whether or not it can read them', async () => {
  const { db, replay, publish, publishKeys, destroyKey, asks } = await givenCollector()
  const erasure = queueErased({ userName: ADA, at: '2100-01-01T00:00:00.000Z' })
  await publish(...finishedOffer(ADA, 9), ...finishedOffer(BOB, 3), erasure)
  const readErased = () => db.$queryRaw<unknown[]>(sql`SELECT rows::int FROM erased_users`)
  await expect.poll(readErased, SOON).toEqual([{ rows: 1 }])
  const before = await asks.readFormResults(FORM)
  expect(before).toMatchObject({ answer: { elements: [{ count: 2, average: 6 }], funnel: { finished: 2 } } })

  // Its key is published again by the restore of a backup.
  for (const change of [() => destroyKey(erasure.userId), publishKeys]) {
    await change()
    const { outcome, comparisons } = await replay()
    expect(comparisons.filter(({ onlyLive, onlyRebuilt }) => onlyLive + onlyRebuilt > 0)).toEqual([])
    expect(outcome).toBe('swapped')
    expect(await asks.readFormResults(FORM)).toEqual(before)
  }
  expect(await asks.readFormAnswers({ ...FORM, limit: 10 })).toMatchObject({
    answer: { answers: [{ answers: { score: 3 } }], next: null },
  })
})
