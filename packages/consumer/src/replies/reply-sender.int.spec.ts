import { randomUUID } from 'node:crypto'
import { AWAITED_RECORDS_CHANNEL, type AwaitedRecord } from '@nextvisit/contracts'
import { createLogger, createRedis, createRedisSubscriber } from '@nextvisit/service-kit'
import { expect, inject, it, onTestFinished } from 'vitest'
import { hearAwaitedRecords } from './reply-sender.ts'

const logger = createLogger('spec', 'silent')

it('a consumer hears awaited records, ignores other messages, and recovers from a lost connection', async () => {
  const subscriber = createRedisSubscriber({ url: inject('redisUrl'), name: 'spec-awaited', logger })
  const redis = createRedis({ url: inject('redisUrl'), name: 'spec', logger })
  onTestFinished(async () => void (await Promise.all([subscriber.stop(), redis.stop()])))
  const topic = `spec-${randomUUID()}`
  const heard: AwaitedRecord[] = []
  hearAwaitedRecords(subscriber.client, (record) => record.topic === topic && heard.push(record), logger)
  await Promise.all([subscriber.start(), redis.start()])
  const say = (text: string) => redis.client.publish(AWAITED_RECORDS_CHANNEL, text)
  const name = (offset: string) => say(JSON.stringify({ topic, partition: 3, offset }))
  const untilHeard = (offset: bigint) => expect.poll(() => heard.at(-1), { timeout: 10_000 }).toMatchObject({ offset })

  await expect.poll(() => name('0'), { timeout: 10_000 }).toBeGreaterThan(0)
  await untilHeard(0n)
  for (const rubbish of ['', '{', '[]', JSON.stringify({ topic, partition: 'x', offset: 'x' })]) await say(rubbish)
  await name('9007199254740993')
  await untilHeard(9_007_199_254_740_993n)
  expect(heard).toEqual([
    { topic, partition: 3, offset: 0n },
    { topic, partition: 3, offset: 9_007_199_254_740_993n },
  ])

  subscriber.client.disconnect(true)
  await expect.poll(() => name('7').then(() => heard.at(-1)?.offset), { timeout: 10_000 }).toBe(7n)
})
