import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ErasureStoreName } from '@nextvisit/contracts'
import { type CommitDb, type Sql, sql } from '@nextvisit/database'
import { openTestDb } from '@nextvisit/database/testing'
import { createLogAdmin, createPublisher } from '@nextvisit/log'
import type { WrappedKey } from '@nextvisit/sealing'
import { createAddresses, createLogger, createMetrics } from '@nextvisit/service-kit'
import { createTestDatabase, createTestTopic } from '@nextvisit/testing'
import { expect, inject, onTestFinished } from 'vitest'
import { userEraser } from '../src/consumer.ts'
import { createErasureWork } from '../src/erasing/erasure-work.ts'
import { readErasure } from '../src/queries.ts'
import { erasureFacts, erasures, erasureUsers } from '../src/tables.ts'
import { PROJECT, readAll, RING, startConsumers, TOKEN } from './given-eraser.ts'

const WITHIN_MS = 15_000
/** A round begins after this, ms. */
const EVERY_MS = 20
export const REDIS_PREFIX = 'eraser-spec:'

/** A topic of keys and a database of the eraser, with the means to erase users in them. */
export async function givenErasures({ segmentMs = 60_000 }: { readonly segmentMs?: number } = {}) {
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'), { name: 'user-keys' })
  const logAdmin = createLogAdmin(connection)
  await logAdmin.connect()
  await logAdmin.changeTopic(topic, { 'segment.ms': String(segmentMs), 'file.delete.delay.ms': '100' })
  const database = await createTestDatabase(inject('databaseUrl'), userEraser)
  const db = openTestDb(database.url, userEraser.schema)
  const publisher = createPublisher(connection, { requestTimeoutMs: WITHIN_MS })
  await publisher.start()
  onTestFinished(async () => {
    await publisher.stop(1_000)
    await logAdmin.disconnect()
    await db.$disconnect()
    await database.drop()
  })

  const publishKey = async ({ userId, keyId, wrapped: value }: WrappedKey): Promise<void> => {
    const record = { topic, partition: 0, key: `${userId}/${keyId}`, value, headers: {} }
    expect(await publisher.publish(record, performance.now() + WITHIN_MS)).toMatchObject({ outcome: 'published' })
  }
  /** Erases a user, as far as the fold and the outbox do. Returns the erasureId. */
  const givenErasure = async (userId: string, { requestedAt = new Date(), keysUntilMs = 0 } = {}): Promise<string> => {
    const erasureId = randomUUID()
    const keysUntil = new Date(keysUntilMs || requestedAt.getTime() + 60_000).toISOString()
    await db.executeAll([
      ...erasures.insertMissing([
        {
          ...PROJECT,
          erasureId,
          requestedAt: requestedAt.toISOString(),
          users: 1,
          unknown: 0,
          suppress: false,
          keysOnly: false,
        },
      ]),
      ...erasureUsers.insertMissing([{ ...PROJECT, userId, erasureId, keysUntil }]),
      ...erasureFacts.upsert([{ erasureId, userId, partition: 0, offset: 7n }]),
    ])
    return erasureId
  }
  /** Erases several users, each by an erasure of its own, as far as the fold and the outbox do. Returns the users. */
  const givenManyErasures = async (organization: string, count: number, idsBegin = ''): Promise<readonly string[]> => {
    const own = Array.from({ length: count }, () => ({
      organization,
      project: 'shop',
      erasureId: idsBegin + randomUUID().slice(idsBegin.length),
      userId: randomUUID(),
    }))
    const requestedAt = new Date().toISOString()
    await db.executeAll([
      ...erasures.insertMissing(
        own.map(({ erasureId }) => ({
          erasureId,
          organization,
          project: 'shop',
          requestedAt,
          users: 1,
          unknown: 0,
          suppress: false,
          keysOnly: false,
        })),
      ),
      ...erasureUsers.insertMissing(own.map((row) => ({ ...row, keysUntil: requestedAt }))),
      ...erasureFacts.upsert(own.map(({ erasureId, userId }) => ({ erasureId, userId, partition: 0, offset: 7n }))),
    ])
    return own.map(({ userId }) => userId)
  }
  /** Finishes the store by hand, which needs more time otherwise. */
  const finishStore = (erasureId: string, store: ErasureStoreName): Promise<number> =>
    db.$executeRaw(sql`
      WITH noted AS (
        INSERT INTO erasure_stores VALUES (${erasureId}::uuid, ${store}, 0, now())
        ON CONFLICT (erasure_id, store) DO UPDATE SET finished_at = now() RETURNING erasure_id
      ) UPDATE erasures SET keys_only = false FROM noted WHERE erasures.erasure_id = noted.erasure_id`)
  /** Returns the status of each store, or the reason why it is incomplete. */
  const readStores = async (erasureId: string): Promise<Readonly<Record<string, string>>> => {
    const answer = await readErasure(db, { ...PROJECT, erasureId }, new Date())
    return Object.fromEntries((answer?.stores ?? []).map(({ store, status, because }) => [store, because ?? status]))
  }
  /** Returns the last value of each key in the topic. */
  const lastValues = async (): Promise<ReadonlyMap<string, string | null>> =>
    new Map((await readAll(connection, topic)).map(({ key, value }) => [key, value]))
  const parts = {
    db,
    connection,
    logAdmin,
    publisher,
    logger: createLogger('spec', 'silent'),
    metrics: createMetrics('spec'),
    now: () => new Date(),
  }
  return { ...parts, parts, topic, publishKey, givenErasure, givenManyErasures, finishStore, readStores, lastValues }
}

interface WorkOptions {
  readonly arePassed?: () => boolean
  /** The place of the fences that the consumers have folded. Default: they do not name it. */
  readonly fenceOffset?: string
  readonly owns?: () => boolean
  readonly redisUrl?: string
  /** Delays the question for the users to look for. */
  readonly slowScansMs?: number
  /** A round begins after this, ms. */
  readonly everyMs?: number
}

/** Starts the work of an eraser, until the test ends. Counts its questions to Postgres and Kafka, and whether it owns the work. */
export async function startWork(
  { parts, topic }: Pick<Awaited<ReturnType<typeof givenErasures>>, 'parts' | 'topic'>,
  {
    arePassed = () => true,
    fenceOffset,
    owns = () => true,
    redisUrl = inject('redisUrl'),
    slowScansMs = 0,
    everyMs = EVERY_MS,
  }: WorkOptions = {},
) {
  const asked = { owner: 0, marks: 0, statements: [] as string[] }
  const consumers = await startConsumers(arePassed, fenceOffset)
  const addresses = createAddresses([consumers.url])
  const db = counting(parts.db, async (statement) => {
    asked.statements.push(statement.sql)
    if (statement.sql.includes('AS watched')) await sleep(slowScansMs)
  })
  const running = createErasureWork(
    {
      redisUrl,
      keyRing: RING,
      internalServer: { host: '127.0.0.1', port: 0, token: TOKEN, acceptedTokens: [TOKEN] },
      services: {
        'user-projector': addresses,
        'form-trigger-evaluator': addresses,
        metering: addresses,
        'trait-registry': addresses,
        'answer-collector': addresses,
        'webhook-dispatcher': addresses,
      },
    },
    {
      ...parts,
      db,
      logAdmin: {
        ...parts.logAdmin,
        watermarks: (of) => {
          asked.marks += 1
          return parts.logAdmin.watermarks(of)
        },
      },
      countKeyPartitions: () => Promise.resolve(1),
      owns: () => {
        asked.owner += 1
        return owns()
      },
      drainSoon: () => {},
    },
    { redisPrefix: REDIS_PREFIX, keysTopic: topic, everyMs },
  )
  for (const { start } of running) await start()
  const stop = async (): Promise<void> => {
    for (const part of running.toReversed()) await part.stop()
  }
  onTestFinished(async () => {
    await stop()
    await consumers.stop()
  })
  return { asked, questions: consumers.questions, stop }
}

function counting(db: CommitDb, note: (statement: Sql) => Promise<void>): CommitDb {
  return {
    $queryRaw: async (statement) => {
      await note(statement)
      return db.$queryRaw(statement)
    },
    $executeRaw: async (statement) => {
      await note(statement)
      return db.$executeRaw(statement)
    },
    executeAll: async (statements) => {
      await Promise.all(statements.map(note))
      return db.executeAll(statements)
    },
    $disconnect: () => db.$disconnect(),
  }
}
