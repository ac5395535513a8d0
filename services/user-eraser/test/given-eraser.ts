import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  encodeRecord,
  ERASURE_STORES,
  erasedUserCalls,
  type ErasureAnswer,
  type ErasureRequested,
  TOPICS,
  USER_KEYS_TOPIC,
  userEraserCalls,
} from '@nextvisit/contracts'
import { createPublisher, type LogConnection, partitionForKey, readLog, readWatermarks } from '@nextvisit/log'
import { createDataKey, parseKeyRing } from '@nextvisit/sealing'
import {
  createCallClient,
  createAddresses,
  createInternalClient,
  createInternalServer,
  createLogger,
  serveCalls,
} from '@nextvisit/service-kit'
import { bundledPrograms, compiledCode } from '@nextvisit/testing'
import { freePort } from '@nextvisit/testing/own-parts'
import { Registry } from 'prom-client'
import { onTestFinished } from 'vitest'

export const PARTITIONS = 3
export const TOKEN = 'a-token-of-the-specs'
export const SECRET_KEY = 'ab'.repeat(32)
export const PROJECT = { organization: 'acme', project: 'shop' }
const WITHIN_MS = 10_000

const parsed = parseKeyRing(SECRET_KEY)
if (parsed.outcome !== 'ok') throw new Error(parsed.reason)
export const RING = parsed.ring

export function partitionOf(userId: string): number {
  return partitionForKey(userId, PARTITIONS)
}

/**
 * Starts a server that answers like the consumers. `isPassed` decides whether they have folded the erasures, and `fenceOffset` is the
 * place of the fences.
 */
export async function startConsumers(isPassed: () => boolean, fenceOffset: string | null = null) {
  const asked: { readonly userId: string; readonly offset: string }[] = []
  const questions: (readonly string[])[] = []
  const server = createInternalServer({
    host: '127.0.0.1',
    port: 0,
    token: TOKEN,
    routes: serveCalls(erasedUserCalls, {
      readErasedUsers: async ({ users }) => {
        asked.push(...users)
        questions.push(users.map(({ userId }) => userId))
        const [rows, place] = isPassed() ? [2, fenceOffset] : [0, null]
        return { users: users.map(({ userId }) => ({ userId, isPassed: isPassed(), rows, fenceOffset: place })) }
      },
    }),
    isLive: () => ({ status: 'available' }),
    isReady: () => ({ status: 'available' }),
    metrics: new Registry(),
    logger: createLogger('service', 'silent'),
  })
  const { port } = await server.start()
  return { url: `http://127.0.0.1:${port}`, asked, questions, stop: server.stop }
}

interface EraserOptions {
  readonly connection: LogConnection
  readonly databaseUrl: string
  readonly redisUrl: string
  readonly consumersUrl: string
  /** NEXTVISIT_SECRET_KEY. Default: {@link SECRET_KEY}. */
  readonly secretKey?: string
}

/** Starts a process of the eraser, until the test ends. */
export async function startEraser(options: EraserOptions) {
  const { connection, databaseUrl, redisUrl, consumersUrl, secretKey = SECRET_KEY } = options
  const port = await freePort()
  const programOf = await bundledPrograms()
  const child = spawn(process.execPath, [programOf('services/user-eraser/src/main.ts')], {
    env: {
      ...compiledCode(),
      KAFKA_BROKERS: connection.brokers.join(','),
      KAFKA_PARTITIONS: String(PARTITIONS),
      USER_ERASER_DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      INTERNAL_PORT: String(port),
      INTERNAL_TOKEN: TOKEN,
      NEXTVISIT_SECRET_KEY: secretKey,
      USER_PROJECTOR_URLS: consumersUrl,
      FORM_TRIGGER_EVALUATOR_URLS: consumersUrl,
      METERING_URLS: consumersUrl,
      TRAIT_REGISTRY_URLS: consumersUrl,
      ANSWER_COLLECTOR_URLS: consumersUrl,
      WEBHOOK_DISPATCHER_URLS: consumersUrl,
      LOG_LEVEL: 'error',
    },
    stdio: 'inherit',
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const kill = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> => {
    child.kill(signal)
    await ended
  }
  // It leaves its group. That of the next test would otherwise wait for the end of a session.
  onTestFinished(() => kill('SIGTERM'))
  const send = createInternalClient({
    addresses: createAddresses([`http://127.0.0.1:${port}`]),
    token: TOKEN,
    timeoutMs: WITHIN_MS,
  })
  const calls = createCallClient(userEraserCalls, send)
  const read = async (erasureId: string): Promise<ErasureAnswer | undefined> => {
    const outcome = await calls.readErasure({ ...PROJECT, erasureId })
    return outcome.outcome === 'answered' ? outcome.answer : undefined
  }
  return { calls, read, kill }
}

/** Returns the status of each store. */
export function storesOf(answer: ErasureAnswer | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries((answer?.stores ?? []).map(({ store, status }) => [store, status]))
}

export const ALL_COMPLETE = Object.fromEntries(ERASURE_STORES.map((store) => [store, 'complete']))

/** Publishes to the log as a gateway does. */
export async function startGateway(connection: LogConnection) {
  const publisher = createPublisher(connection, { requestTimeoutMs: WITHIN_MS })
  await publisher.start()

  async function publish(record: Omit<Parameters<typeof publisher.publish>[0], 'headers'>, headers = {}) {
    const outcome = await publisher.publish({ ...record, headers }, performance.now() + WITHIN_MS)
    if (outcome.outcome !== 'published') throw new Error(`not published: ${outcome.outcome}`)
  }

  return {
    /** Publishes a key of a user. */
    publishKey: async ({ userId, keyId, wrapped }: { userId: string; keyId: string; wrapped: string }) =>
      publish({ topic: USER_KEYS_TOPIC, partition: partitionOf(userId), key: `${userId}/${keyId}`, value: wrapped }),
    requestErasure: async (userIds: readonly string[], special: Partial<ErasureRequested> = {}) => {
      const fact: ErasureRequested = {
        type: 'ErasureRequested',
        id: randomUUID(),
        ...PROJECT,
        received: new Date().toISOString(),
        userIds: [...userIds],
        unknown: 0,
        suppress: false,
        ...special,
      }
      const { value, headers } = encodeRecord(fact, { source: 'gateway', time: fact.received })
      await publish({ topic: TOPICS.erasures, partition: 0, key: fact.id, value }, headers)
      return fact
    },
    stop: () => publisher.stop(1_000),
  }
}

/** Creates a key of a user, as of now. */
export function newKey(userId: string) {
  return createDataKey(RING, userId, Date.now()).wrapped
}

/** Reads all records of a topic, with their place. */
export async function readAll(connection: LogConnection, topic: string) {
  const records: {
    readonly partition: number
    readonly offset: bigint
    readonly key: string
    readonly value: string | null
  }[] = []
  const marks = await readWatermarks(connection, topic)
  await readLog(connection, {
    topic,
    from: new Map([...marks].map(([partition, { low }]) => [partition, low])),
    until: 'end',
    onBatch: (batch) => {
      for (const { partition, offset, key, value } of batch.records)
        records.push({ partition, offset, key: String(key), value: value === null ? null : value.toString() })
    },
  })
  return records
}
