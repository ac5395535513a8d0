import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { AWAITED_RECORDS_CHANNEL, type IdentifyRequested } from '@nextvisit/contracts'
import { identifyRequested, organizationConfig } from '@nextvisit/contracts/fixtures'
import type { PublishOutcome } from '@nextvisit/log'
import { createDependencyLog, createLogger, createRedis, createRedisSubscriber } from '@nextvisit/service-kit'
import { until } from '@nextvisit/testing'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { KEY } from '../../test/given-stages.ts'
import { REFUSALS, refuse } from '../refusals/refusals.ts'
import { REQUEST_BUDGET_MS } from '../http/request-budget.ts'
import { answer, type CheckedRequest } from '../http/route.ts'
import type { Published } from '../publishing/user-event-publisher.ts'
import { createReplyWaiter, type ReplyWaiter } from './reply-waiter.ts'
import { createKeptAnswers } from '../idempotency/kept-answers.ts'
import { type AwaitedReply, createStages, defineKind, type RecordKind } from './stages.ts'

const logger = createLogger('test', 'silent')
const [project] = staticCatalog([organizationConfig({ id: 'acme', projects: [{ id: 'shop' }] })]).projects()
const fact = identifyRequested()
const requestWith = (budgetMs: number) =>
  ({
    requestId: randomUUID(),
    deadlineAt: performance.now() + budgetMs,
    project,
    key: { entry: { kind: 'admin' } },
    idempotency: 'none',
  }) as CheckedRequest

type Publish = (channel: string | undefined) => Promise<Published>
const cause = new Error('no answer')
const OUTCOMES: Readonly<Record<Published, PublishOutcome>> = {
  published: { outcome: 'published', offset: 7n },
  'not-published': { outcome: 'not-published', reason: 'deadline' },
  unknown: { outcome: 'unknown', cause },
}
const acknowledge: Publish = async () => 'published'
const refuseUser = async () => refuse(REFUSALS.user)

describe('a request that waits for the evaluator (design.md, Replies)', () => {
  const publisher = createRedis({ url: inject('redisUrl'), name: 'test', logger })
  const subscriber = createRedisSubscriber({ url: inject('redisUrl'), name: 'test-replies', logger })
  let replies: ReplyWaiter
  beforeAll(async () => {
    const [instanceId, ignore] = [randomUUID(), () => undefined]
    replies = createReplyWaiter({
      redis: publisher.client,
      subscriber: subscriber.client,
      instanceId,
      logger,
      dependencies: createDependencyLog(logger),
      onState: ignore,
      onReplyAwaited: ignore,
    })
    await publisher.start()
    await subscriber.start()
    await until(replies.isUp)
  })
  afterAll(async () => {
    replies.stop()
    await subscriber.stop()
    await publisher.stop()
  })

  /** Records a request to which a form may react, unless `special` says otherwise. `publish` gets the record's channel. */
  async function record(
    request: CheckedRequest,
    publish: Publish,
    special: Partial<RecordKind<{ userName: string }, IdentifyRequested>> = {},
  ) {
    let reply: AwaitedReply | 'not awaited' = 'not awaited'
    const stages = createStages({
      checkSignature: () => 'valid',
      checkSuppression: () => undefined,
      keptAnswers: createKeptAnswers(publisher.client, `test:${randomUUID()}:`, REQUEST_BUDGET_MS),
      knownUsers: { check: async () => 'exists', keyOf: async () => KEY },
      userEvents: {
        partitionOf: (userId) => ({ userId, partition: 0 }),
        publish: async (_fact, _user, { replyTo }) => OUTCOMES[await publish(replyTo)],
      },
      replies,
      onRecorded: () => undefined,
    })
    const kind = defineKind<{ userName: string }, IdentifyRequested>({
      identifies: true,
      parse: () => ({ outcome: 'ok', value: { userName: 'ada' } }),
      admit: async ({ request: { requestId: id } }) => ({
        outcome: 'admitted',
        fact: { ...fact, id },
        conclude: async () => undefined,
      }),
      mayReact: () => true,
      answer: (_fact, awaited) => {
        reply = awaited
        return answer(200, {})
      },
      ...special,
    })
    const result = await stages.record(kind, request)
    return { result, reply }
  }

  const replyTo = (channel: string | undefined, recordId: string) =>
    publisher.client.publish(channel ?? '', JSON.stringify({ kind: 'track', recordId, formsQueued: 1 }))

  it('receives a reply that is faster than the ack of the record', async () => {
    const request = requestWith(60_000)
    const { reply } = await record(request, async (channel) => {
      await replyTo(channel, request.requestId)
      await sleep(100)
      return 'published'
    })
    expect(reply).toMatchObject({ formsQueued: 1 })
  })

  it('announces the record to the evaluator once it is in the log', async () => {
    const listener = createRedisSubscriber({ url: inject('redisUrl'), name: 'test-awaited', logger })
    onTestFinished(listener.stop)
    await listener.start()
    await listener.client.subscribe(AWAITED_RECORDS_CHANNEL)
    const request = requestWith(60_000)
    let isInLog = false
    listener.client.on('message', (_channel, text: string) => {
      if (isInLog && text === JSON.stringify({ topic: 'user-events', partition: 0, offset: '7' }))
        void replyTo(channelOfReplies, request.requestId)
    })
    let channelOfReplies: string | undefined
    const { reply } = await record(request, async (channel) => {
      channelOfReplies = channel
      await sleep(50)
      isInLog = true
      return 'published'
    })
    expect(reply).toMatchObject({ formsQueued: 1 })
  })

  it('awaits no reply if the record was refused', async () => {
    const { result, reply } = await record(requestWith(60_000), acknowledge, { admit: refuseUser })
    expect(result).toMatchObject({ status: 404 })
    expect(reply).toBe('not awaited')
  })

  it.each(['unknown', 'not-published'] as const)('awaits no reply if the record is %s', async (published) => {
    const { result, reply } = await record(requestWith(60_000), async () => published)
    expect(result).toMatchObject({ status: 503 })
    expect(reply).toBe('not awaited')
  })

  it('names no channel and awaits no reply if no form may react', async () => {
    const channels: unknown[] = []
    const publish: Publish = async (channel) => {
      channels.push(channel)
      return 'published'
    }
    const { reply } = await record(requestWith(60_000), publish, { mayReact: () => false })
    expect([reply, channels]).toEqual(['none', [undefined]])
  })

  it('is answered as soon as the subscription is lost; later requests get replies once it is back', async () => {
    const waiting = record(requestWith(60_000), acknowledge)
    await sleep(20)
    subscriber.client.disconnect(true)
    expect((await waiting).reply).toBe('later')
    await until(replies.isUp)
    const request = requestWith(60_000)
    const { reply } = await record(request, async (channel) => {
      await replyTo(channel, request.requestId)
      return 'published'
    })
    expect(reply).toMatchObject({ formsQueued: 1 })
  })

  it('stops waiting for an evaluator that sends no replies', async () => {
    const late = await Promise.all(Array.from({ length: 20 }, () => record(requestWith(20), acknowledge)))
    expect(new Set(late.map(({ reply }) => reply))).toEqual(new Set(['later']))
    // With the breaker open, the minute is not used.
    expect((await record(requestWith(60_000), acknowledge)).reply).toBe('later')
  })
})
