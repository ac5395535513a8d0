import type { ProjectionRunner } from '@nextvisit/consumer'
import { startRunner } from '@nextvisit/consumer/test/given-runner.ts'
import { encodeRecord } from '@nextvisit/contracts'
import { type CommitDb, openCommitDb, sql } from '@nextvisit/database'
import { createPublisher, type LogConnection, partitionForKey, type Publisher } from '@nextvisit/log'
import { createTestDatabase, createTestTopic, type TestDatabase, testSealOf } from '@nextvisit/testing'
import { afterAll, beforeAll, expect, inject } from 'vitest'
import { webhookDispatcher } from '../src/consumer.ts'
import { webhookOf } from '../src/endpoints.ts'
import { createListeners } from '../src/listeners.ts'
import { createProjection } from '../src/projection.ts'
import { createChangingCatalog } from './changing-catalog.ts'

export const PARTITIONS = 4
export const LONG_AGO = '2020-01-01T00:00:00.000Z'
export const soon = { timeout: 20_000, interval: 20 }
const PUBLISH_WITHIN_MS = 30_000
const MAX_PUBLISHED_AT_ONCE = 2_000

interface SpecFact {
  readonly id: string
  readonly type: string
  readonly userId: string
  readonly at: string
}

/** Returns the partition of a user. */
export function partitionOf(userId: string): number {
  return partitionForKey(userId, PARTITIONS)
}

/** A delivery as specs compare it. */
export interface FoundDelivery {
  readonly deliveryId: string
  readonly endpointId: string
  readonly replayId: string
  readonly userId: string
  readonly webhookId: string
  readonly type: string
  readonly status: string
  readonly body: string
  readonly capture: readonly string[]
}

/** Returns the number of records that a runner has folded. */
function foldedBy({ progress }: Pick<ProjectionRunner, 'progress'>): number {
  return progress().reduce((sum, { nextOffset }) => sum + Number(nextOffset), 0)
}

/** Runs the projection on a log of its own for the specs of a file. Each spec has an organization of its own. */
export function givenDispatcher() {
  const catalog = createChangingCatalog()
  const listeners = createListeners()
  let database: TestDatabase
  let db: CommitDb
  let publisher: Publisher
  let log: { readonly topic: string; readonly connection: LogConnection }
  let published = 0
  let runner: Awaited<ReturnType<typeof startRunner>>['runner']

  beforeAll(async () => {
    log = await createTestTopic(inject('kafkaBrokers'), { partitions: PARTITIONS })
    database = await createTestDatabase(inject('databaseUrl'), webhookDispatcher)
    db = openCommitDb({ url: database.url, schema: webhookDispatcher.schema, applicationName: 'spec' })
    publisher = createPublisher(log.connection, { requestTimeoutMs: PUBLISH_WITHIN_MS })
    await publisher.start()
    await start()
  })
  afterAll(async () => {
    await runner?.stop()
    await publisher?.stop(1_000)
    await db?.$disconnect()
    await database?.drop()
  })

  async function start(): Promise<void> {
    const projection = { ...createProjection(listeners), topic: log.topic }
    ;({ runner } = await startRunner(projection, log.connection, db, { catalog: catalog.view }))
  }

  /** Publishes facts in order: those of a user are in the log in this order. */
  async function publish(facts: readonly SpecFact[], values: readonly (string | undefined)[] = []): Promise<void> {
    if (facts.length > MAX_PUBLISHED_AT_ONCE) {
      await publish(facts.slice(0, MAX_PUBLISHED_AT_ONCE))
      return publish(facts.slice(MAX_PUBLISHED_AT_ONCE))
    }
    const deadlineAt = performance.now() + PUBLISH_WITHIN_MS
    const outcomes = await Promise.all(
      facts.map((fact, index) => {
        const { value, headers } = encodeRecord(fact, { source: 'test', time: fact.at, seal: testSealOf(fact.userId) })
        const place = { topic: log.topic, partition: partitionOf(fact.userId), key: fact.userId }
        return publisher.publish({ ...place, value: values[index] ?? value, headers }, deadlineAt)
      }),
    )
    expect(outcomes.filter(({ outcome }) => outcome !== 'published')).toEqual([])
    published += facts.length
  }

  /** Returns the deliveries of an organization, in the order of each user. */
  async function deliveriesOf(organization: string): Promise<readonly FoundDelivery[]> {
    return db.$queryRaw<FoundDelivery[]>(sql`
      SELECT delivery_id AS "deliveryId", endpoint_id AS "endpointId", replay_id AS "replayId", user_id AS "userId",
        webhook_id AS "webhookId", type, status, body, capture
      FROM deliveries WHERE organization = ${organization} ORDER BY endpoint_id, replay_id, user_id, source_offset`)
  }

  return {
    catalog,
    listeners,
    db: () => db,
    connection: () => log.connection,
    runner: () => runner,
    restart: async (): Promise<void> => {
      await runner.stop()
      await start()
    },
    publish,
    deliveriesOf,
    webhookIdsOf: async (organization: string) => (await deliveriesOf(organization)).map(({ webhookId }) => webhookId),
    /** Resolves once an endpoint is live in every partition. */
    untilLive: async (organization: string, endpointId = 'crm'): Promise<void> => {
      const addedAt = webhookOf(catalog.view, { organization, project: 'shop', endpointId })?.addedAt
      const live = () =>
        db.$queryRaw(sql`
          SELECT count(*)::int AS live FROM positions
          WHERE (organization, endpoint_id, added_at) = (${organization}, ${endpointId}, ${addedAt}::timestamptz) AND is_live`)
      await expect.poll(live, soon).toEqual([{ live: PARTITIONS }])
    },
    /** Resolves once everything that was published is folded. */
    untilFolded: async (): Promise<void> => {
      await expect.poll(() => foldedBy(runner), soon).toBe(published)
    },
  }
}
