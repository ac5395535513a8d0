import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLogger, createRedis, createRedisSubscriber } from '@nextvisit/service-kit'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type AwaitReply, createAwaitReply } from './await-reply.ts'
import { until } from './gateway-fixture.ts'
import { refuse } from './refusal.ts'
import { createReplies, type Replies } from './replies.ts'
import type { CheckedRequest } from './route.ts'

const logger = createLogger('test', 'silent')
const request = (budgetMs: number) =>
  ({ requestId: randomUUID(), deadlineAt: performance.now() + budgetMs }) as CheckedRequest
const recorded = { outcome: 'recorded' } as const

describe('waiting for the evaluator (design.md, Replies)', () => {
  const publisher = createRedis({ url: inject('redisUrl'), name: 'test', logger })
  const subscriber = createRedisSubscriber({ url: inject('redisUrl'), name: 'test-replies', logger })
  let replies: Replies
  let awaitReply: AwaitReply
  let stop: () => void
  beforeAll(async () => {
    replies = createReplies(subscriber.client, randomUUID(), logger)
    const waiting = createAwaitReply(replies, { logger, onState: () => {} }, () => {})
    awaitReply = waiting.awaitReply
    stop = waiting.stop
    await publisher.start()
    await subscriber.start()
    await until(replies.isUp)
  })
  afterAll(async () => {
    stop()
    await subscriber.stop()
    await publisher.stop()
  })

  const replyTo = (channel: string | undefined, recordId: string) =>
    publisher.client.publish(channel ?? '', JSON.stringify({ kind: 'track', recordId, formsQueued: 1 }))

  it('hears a reply that is faster than the ack of the record', async () => {
    const given = request(60_000)
    const { reply } = await awaitReply(given, true, async (channel) => {
      await replyTo(channel, given.requestId)
      await sleep(100)
      return recorded
    })
    expect(reply).toMatchObject({ formsQueued: 1 })
  })

  it('waits for nothing where the record was refused', async () => {
    const { result, reply } = await awaitReply(request(60_000), true, async () => refuse(404, 'User not found'))
    expect(result).toMatchObject({ status: 404 })
    expect(reply).toBe('later')
  })

  it('names no channel, and waits for nothing, where no reply is wanted', async () => {
    const channels: unknown[] = []
    const { reply } = await awaitReply(request(60_000), false, async (channel) => {
      channels.push(channel)
      return recorded
    })
    expect([reply, channels]).toEqual(['none', [undefined]])
  })

  it('tells who waits, as soon as the subscription is lost, and hears again after it is back', async () => {
    const waiting = awaitReply(request(60_000), true, async () => recorded)
    await sleep(20)
    subscriber.client.disconnect(true)
    expect((await waiting).reply).toBe('later')
    await until(replies.isUp)
    const given = request(60_000)
    const { reply } = await awaitReply(given, true, async (channel) => {
      await replyTo(channel, given.requestId)
      return recorded
    })
    expect(reply).toMatchObject({ formsQueued: 1 })
  })

  it('stops waiting for an evaluator that leaves replies unanswered', async () => {
    const late = await Promise.all(
      Array.from({ length: 20 }, () => awaitReply(request(20), true, async () => recorded)),
    )
    expect(new Set(late.map(({ reply }) => reply))).toEqual(new Set(['later']))
    // With the breaker open, a minute is not waited for.
    expect((await awaitReply(request(60_000), true, async () => recorded)).reply).toBe('later')
  })
})
