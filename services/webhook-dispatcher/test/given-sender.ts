import { randomUUID } from 'node:crypto'
import type { WebhookType } from '@nextvisit/contracts'
import { type CommitDb, raw, sql } from '@nextvisit/database'
import { openTestDb } from '@nextvisit/database/testing'
import { deliveryIdOf, LIVE_STREAM } from '@nextvisit/domain'
import { partitionForKey } from '@nextvisit/log'
import { createLogger } from '@nextvisit/service-kit'
import { createTestDatabase, type TestDatabase } from '@nextvisit/testing'
import { afterAll, beforeAll, beforeEach, inject, onTestFinished } from 'vitest'
import { webhookDispatcher } from '../src/consumer.ts'
import { createCapture, type CaptureParts } from '../src/sending/capture.ts'
import { type Connector, createConnector } from '../src/sending/connector.ts'
import { createEndpoints } from '../src/sending/endpoints.ts'
import { LOOPBACK } from '../src/sending/networks.ts'
import { createSender, type SenderParts } from '../src/sending/sender.ts'
import { attempts, deliveries, turns } from '../src/tables.ts'
import { ADDED_AT, type GivenWebhook, givenCatalog, PROJECT, RING } from './given-catalog.ts'

export const PARTITIONS = 4
const RETRY_DELAYS_MS = [20, 40]

export interface GivenDelivery {
  readonly userId?: string
  readonly endpointId?: string
  /** Of the endpoint. Default: {@link ADDED_AT}. */
  readonly addedAt?: string
  readonly replayId?: string
  /** The place of the record. Default: after the one before. */
  readonly offset?: number
  readonly webhookId?: string
  readonly type?: WebhookType
  readonly data?: object
  readonly capture?: readonly string[]
  readonly status?: 'pending' | 'delivered' | 'failed'
  readonly round?: number
  readonly at?: string
}

const NO_CALLS: Pick<CaptureParts, 'readTraits' | 'answers'> = {
  readTraits: async () => ({ outcome: 'unavailable' }),
  answers: { readOfferAnswers: async () => ({ outcome: 'behind' }) },
}

interface SenderOptions extends Partial<Omit<SenderParts, 'capture'>> {
  readonly calls?: Pick<CaptureParts, 'readTraits' | 'answers'>
  readonly connector?: Connector
}

/** The tables of the dispatcher for the specs of a file, empty at the beginning of each, and senders on them. */
export function givenSenders() {
  let db: CommitDb
  let database: TestDatabase
  let [offset, catalog] = [0, givenCatalog()]
  beforeAll(async () => {
    database = await createTestDatabase(inject('databaseUrl'), webhookDispatcher)
    db = openTestDb(database.url, webhookDispatcher.schema)
  })
  beforeEach(async () => {
    catalog = givenCatalog()
    await db.$executeRaw(raw('TRUNCATE endpoints, positions, replays, deliveries, turns, attempts'))
  })
  afterAll(async () => {
    await db?.$disconnect()
    await database?.drop()
  })

  /** Writes deliveries as the fold does. Returns their ids. */
  async function givenDeliveries(given: readonly GivenDelivery[]): Promise<readonly string[]> {
    const now = new Date().toISOString()
    const rows = given.map(
      ({
        userId = randomUUID(),
        endpointId = 'crm',
        addedAt = ADDED_AT,
        replayId = LIVE_STREAM,
        webhookId = randomUUID(),
        type = 'form.queued',
        data = {},
        capture = [],
        status = 'pending',
        round = 0,
        at = now,
        offset: own,
      }) => {
        offset = own ?? offset + 1
        const payload = { type, timestamp: at, data: { ...PROJECT, userId, ...data } }
        return {
          ...PROJECT,
          deliveryId: deliveryIdOf({ ...PROJECT, endpointId, addedAt, replayId }, { webhookId, type }),
          endpointId,
          replayId,
          partition: partitionForKey(userId, PARTITIONS),
          sourceOffset: BigInt(offset),
          causeOffset: null,
          userId,
          webhookId,
          type,
          at,
          body: JSON.stringify(payload),
          capture: [...capture],
          status,
          attempts: 0,
          round,
          createdAt: now,
          pendingSince: now,
          endedAt: status === 'pending' ? null : now,
        }
      },
    )
    await db.executeAll([
      ...deliveries.insert(rows),
      ...turns.insertMissing(rows.filter(({ status }) => status === 'pending').map((row) => ({ ...row, nextAt: now }))),
    ])
    return rows.map(({ deliveryId }) => deliveryId)
  }

  /** Starts a sender, until the test ends. */
  async function startSender({
    calls = NO_CALLS,
    connector = createConnector({ networks: LOOPBACK, isHttpAllowed: true }),
    ...own
  }: SenderOptions = {}) {
    const logger = createLogger('service', 'silent')
    const now = own.now ?? (() => new Date())
    const sender = createSender({
      db,
      endpoints: createEndpoints({ catalog: catalog.view, keyRing: RING, connector, logger }),
      capture: createCapture({ db, now, ...calls }),
      owns: () => true,
      countPartitions: async () => PARTITIONS,
      retryDelaysMs: RETRY_DELAYS_MS,
      logger,
      now,
      stopWithinMs: 50,
      ...own,
    })
    await sender.start()
    let stopped: Promise<void> | undefined
    const stop = (): Promise<void> => (stopped ??= sender.stop())
    onTestFinished(() => stop())
    return { ...sender, stop }
  }

  return {
    db: () => db,
    databaseUrl: () => database.url,
    catalog: () => catalog.view,
    setWebhooks: (...webhooks: readonly GivenWebhook[]) => catalog.setWebhooks(...webhooks),
    givenDeliveries,
    startSender,
    readDeliveries: () => deliveries.select(db, sql`FROM deliveries ORDER BY source_offset, delivery_id`),
    readTurns: () => turns.select(db, sql`FROM turns ORDER BY user_id`),
    readAttempts: () => attempts.select(db, sql`FROM attempts ORDER BY at, number`),
    readHealth: async () => {
      const [row] = await db.$queryRaw<
        { disabledAt: Date | null; because: string | null; failingSince: Date | null; deliveredAt: Date | null }[]
      >(sql`SELECT disabled_at AS "disabledAt", because, failing_since AS "failingSince", delivered_at AS "deliveredAt"
        FROM endpoints`)
      return row
    },
  }
}
