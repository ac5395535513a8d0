import { randomUUID } from 'node:crypto'
import { createDependencyLog, createLogger, createRedis, createRedisSubscriber } from '@nextvisit/service-kit'
import { until } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished } from 'vitest'
import { createReplyWaiter } from './reply-waiter.ts'

const logger = createLogger('test', 'silent')

/** Replies over a real Redis. `ask` waits for the reply to a record in a partition. */
async function givenReplies(dependencies = createDependencyLog(logger)) {
  const connection = { url: inject('redisUrl'), name: 'test', logger, commandTimeoutMs: 10_000 }
  const [redis, subscriber] = [createRedis(connection), createRedisSubscriber(connection)]
  const replies = createReplyWaiter({
    redis: redis.client,
    subscriber: subscriber.client,
    instanceId: randomUUID(),
    logger,
    dependencies,
    onState: () => {},
    onReplyAwaited: () => {},
  })
  await redis.start()
  await subscriber.start()
  await until(replies.isUp)
  onTestFinished(async () => {
    replies.stop()
    await subscriber.stop()
    await redis.stop()
  })
  return async (partition: number, { isReplied = true, withinMs = 30_000 } = {}) => {
    const recordId = randomUUID()
    const waiter = replies.expect(recordId)
    if (!waiter) throw new Error('nothing can be received')
    const message = JSON.stringify({ kind: 'track', recordId, formsQueued: 1 })
    if (isReplied) await redis.client.publish(waiter.channel, message)
    const reply = await waiter.reply({ partition, offset: 1n }, performance.now() + withinMs)
    waiter.cancel()
    return reply
  }
}

it('a partition without replies does not affect another one (design.md, Replies)', async () => {
  const ask = await givenReplies()
  for (let time = 0; time < 10; time += 1) expect(await ask(3, { isReplied: false, withinMs: 1 })).toBe('later')
  // No request waits for the silent partition meanwhile.
  expect(await ask(3)).toBe('later')
  expect(await ask(7)).toMatchObject({ formsQueued: 1 })
})

it('the log has one line when no reply comes any more, and one when replies come again', async () => {
  const logged: string[] = []
  const write = (_fields: object, line: string) => void logged.push(line)
  const ask = await givenReplies(createDependencyLog({ warn: write, info: write }))
  // Too few in each partition to open a breaker.
  for (let partition = 0; partition < 6; partition += 1) await ask(partition, { isReplied: false, withinMs: 1 })
  expect(logged).toEqual(['form-trigger-evaluator (replies) does not answer'])
  expect(await ask(2)).toMatchObject({ formsQueued: 1 })
  expect(logged).toEqual([
    'form-trigger-evaluator (replies) does not answer',
    'form-trigger-evaluator (replies) answers again',
  ])
})
