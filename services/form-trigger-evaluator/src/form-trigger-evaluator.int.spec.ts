import { randomUUID } from 'node:crypto'
import { createBarrier, createReplyPublisher, type ProjectionRunner } from '@nextvisit/consumer'
import { startRunner } from '@nextvisit/consumer/test/given-runner.ts'
import {
  encodeRecord,
  EvaluatorReply,
  formTriggerEvaluatorCalls,
  replyChannel,
  type UserFact,
} from '@nextvisit/contracts'
import { eventTracked, identifyRequested, visit, visitAnswered } from '@nextvisit/contracts/fixtures'
import { createPublisher, type LogConnection, type Publisher, withLogAdmin } from '@nextvisit/log'
import { createCallClient, createLogger, createRedis, type RedisConnection, sendLocally } from '@nextvisit/service-kit'
import {
  createTestDatabase,
  createTestTopic,
  type TestDatabase,
  storedTestKeys,
  storeTestKeys,
  testSealOf,
  PATIENT_REQUESTS,
} from '@nextvisit/testing'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { contextOf, nps } from '../test/evaluator-fixtures.ts'
import { migrations, openDbs } from '../test/given-evaluator.ts'
import { formTriggerEvaluator } from './consumer.ts'
import { createProjection } from './projection.ts'

/** As a gateway sees it: records go into the log, replies come over Redis. */
const logger = createLogger('test', 'silent')
const channel = replyChannel(`test-${randomUUID()}`)
const waiting = new Map<string, (reply: EvaluatorReply) => void>()
const failures: Error[] = []
let topic: string
let connection: LogConnection
let database: TestDatabase
let dbs: ReturnType<typeof openDbs>
let redis: RedisConnection
let subscriber: Redis
let publisher: Publisher
let runner: ProjectionRunner

beforeAll(async () => {
  ;({ topic, connection } = await createTestTopic(inject('kafkaBrokers')))
  database = await createTestDatabase(inject('databaseUrl'), { schema: 'forms', migrations })
  dbs = openDbs(database.url)
  redis = createRedis({ url: inject('redisUrl'), name: 'test', logger })
  await redis.start()
  subscriber = new Redis(inject('redisUrl'))
  await subscriber.subscribe(channel)
  subscriber.on('message', (_channel, text: string) => {
    const reply = EvaluatorReply.parse(JSON.parse(text))
    waiting.get(reply.recordId)?.(reply)
  })
  publisher = createPublisher(connection, PATIENT_REQUESTS)
  await publisher.start()
  const publishReplies = createReplyPublisher(redis.client, logger)
  const projection = { ...createProjection({ publishReplies }), topic }
  const { catalog } = contextOf([nps])
  ;({ runner } = await startRunner(projection, connection, dbs.db, {
    catalog,
    userKeys: storedTestKeys(projection.name),
    onFailure: (error) => failures.push(error),
  }))
})

afterAll(async () => {
  await runner?.stop()
  await publisher?.stop(1_000)
  await redis?.stop()
  await subscriber?.quit()
  await dbs?.disconnect()
  await database?.drop()
})

async function publish(fact: UserFact, replyTo?: string): Promise<void> {
  await storeTestKeys(dbs.db, [fact])
  const seal = testSealOf(fact.userId)
  const record = encodeRecord(fact, { source: 'test', time: fact.received, replyTo, seal })
  const outcome = await publisher.publish(
    { topic, partition: 0, key: fact.userId, ...record },
    performance.now() + 10_000,
  )
  expect(outcome).toMatchObject({ outcome: 'published' })
}

async function ask(fact: UserFact): Promise<EvaluatorReply> {
  const reply = new Promise<EvaluatorReply>((resolve) => waiting.set(fact.id, resolve))
  await publish(fact, channel)
  return reply
}

async function expectDelivered(): Promise<void> {
  expect(await dbs.prisma.queueRow.findMany()).toMatchObject([{ state: 'delivered' }])
}

describe('a running evaluator', () => {
  it('queues a form for an event, offers it at the visit, and delivers it once the visit is answered', async () => {
    const received = new Date().toISOString()
    await publish(identifyRequested({ received, device: { $userLanguage: 'de-CH' } }))
    expect(await ask(eventTracked({ received }))).toMatchObject({ kind: 'track', formsQueued: 1 })

    const shown = visit({ received, device: { $deviceLanguage: 'fr' } })
    const reply = await ask(shown)
    const offer = { formId: 'nps', languages: ['de-CH', 'fr'] }
    expect(reply).toMatchObject({ kind: 'visit', offer, moreWaiting: false })
    if (reply.kind !== 'visit' || !reply.offer) throw new Error('an offer was expected')
    expect(await ask(visit({ received }))).toMatchObject({ offer: null })

    const { queuedId, formId } = reply.offer
    await publish(visitAnswered({ visitId: shown.id, queuedId, formId, received, userId: shown.userId }))
    await vi.waitFor(expectDelivered, { timeout: 30_000 })
    expect(failures).toEqual([])
  })
})

const routeParts = {
  catalog: contextOf([nps]).catalog,
  now: () => new Date(),
  countKeyPartitions: () => Promise.resolve(1),
  fetchNow: () => {},
}

describe('a read of forms after an event', () => {
  const ofAda = identifyRequested()
  const user = { organization: ofAda.organization, project: ofAda.project, userId: ofAda.userId }

  function askWhy(withinMs: number) {
    return withLogAdmin(connection, async (logAdmin) => {
      const barrier = createBarrier({ db: dbs.prisma, logAdmin, projection: 'form-trigger-evaluator', topic })
      const routes = formTriggerEvaluator.routes({ ...routeParts, db: dbs.prisma, readDb: dbs.prisma, barrier })
      const asks = createCallClient(formTriggerEvaluatorCalls, sendLocally(routes))
      return asks.readForms(user, {
        signal: AbortSignal.timeout(withinMs),
        deadlineAt: performance.now() + withinMs,
      })
    })
  }

  it('includes the decision on the event, although no gateway waited for it', async () => {
    for (let time = 0; time < 5; time += 1) {
      const tracked = eventTracked({ received: new Date().toISOString() })
      await publish(tracked)
      expect(await askWhy(30_000)).toMatchObject({
        answer: { forms: [{ formId: 'nps', requestId: tracked.id }] },
      })
    }
  })

  it('is refused while the evaluator is behind, instead of returning an older decision', async () => {
    await runner.stop()
    await publish(eventTracked({ received: new Date().toISOString() }))
    expect(await askWhy(500)).toEqual({ outcome: 'behind' })
  })
})
