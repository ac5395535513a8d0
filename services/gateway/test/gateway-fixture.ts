import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { type FormContent, OrganizationConfig } from '@nextvisit/contracts'
import { contentHashOf, createApiKey, hashApiKey } from '@nextvisit/domain'
import { createPublisher, type LogConnection, withLogAdmin } from '@nextvisit/log'
import type { KeyRing } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { createAddresses, createLogger, createRedis, createRedisSubscriber } from '@nextvisit/service-kit'
import { until } from '@nextvisit/testing'
import { createErasureView, type ErasureView, type Fences } from '@nextvisit/user-keys'
import { givenErasures } from '@nextvisit/user-keys/test/given-erasures.ts'
import { Registry } from 'prom-client'
import { inject } from 'vitest'
import type { z } from 'zod'
import { createGatewayMetrics } from '../src/gateway-metrics.ts'
import { createGateway, type GatewayParts } from '../src/gateway.ts'
import { publishTimeoutMs, REQUEST_BUDGET_MS } from '../src/http/request-budget.ts'
import { createHttpServer } from '../src/http/http-server.ts'
import { loadCountries } from '../src/ingest/caller-country.ts'
import { callOver } from './call-over.ts'
import { PARTITIONS, readRecords, readUserKeys } from './read-records.ts'

/** Address of a closed port. */
const NOBODY = 'http://127.0.0.1:1'
export const TEST_TOKEN = 'a-token-for-tests-only'
const KEY_RING = givenKeyRing('ab'.repeat(32))
/** Long enough for a slow machine. Specs about time limits pass the product's budget. */
const PATIENT_BUDGET_MS = 10 * REQUEST_BUDGET_MS
const PATIENT_RATE_LIMIT_MS = 5_000

type ProjectInput = NonNullable<z.input<typeof OrganizationConfig>['projects']>[number]

export interface GatewayFixtureOptions {
  readonly project?: Partial<ProjectInput>
  readonly plan?: z.input<typeof OrganizationConfig>['plan']
  readonly services?: Partial<Record<keyof GatewayParts['services'], string>>
  /** True: follows a topic of its own. Default: no erasure is ever requested. */
  readonly withErasures?: boolean
  /** Default: `operator-changes`. */
  readonly changesTopic?: string
  /** Default: true. */
  readonly waitsForErasures?: boolean
  readonly brokers?: string
  /** Replaces the addresses of brokers, by those of a fault proxy. */
  readonly addressFor?: LogConnection['addressFor']
  readonly redisUrl?: string
  /** Default: ten times the product's budget. */
  readonly requestBudgetMs?: number
  readonly maxInFlight?: number
  readonly maxBodyBytesInFlight?: number
  readonly maxConnections?: number
  /** Default: 0. */
  readonly shutdownDelayMs?: number
  /** Default: none. */
  readonly trustedProxies?: readonly string[]
  readonly catalog?: GatewayParts['catalog']
  /** The contents of the project's forms. */
  readonly contents?: readonly { readonly formId: string; readonly revision: number; readonly content: FormContent }[]
  /** Default: one key that all gateways of specs share. */
  readonly keyRing?: KeyRing
  /** Default: no user is erased or suppressed. */
  readonly fences?: Partial<Fences & Pick<ErasureView, 'isSuppressed'>>
  /** Makes this a second gateway of an installation, with the same topic, organization and keys. */
  readonly besides?: Installation
}

/** The parts that gateways of one installation share. */
interface Installation {
  readonly topic: string
  readonly redisPrefix: string
  /** If it is followed. */
  readonly erasuresTopic?: string | undefined
  readonly keys: { readonly admin: string; readonly eraser: string; readonly adminT: string; readonly sdk: string }
  readonly config: OrganizationConfig
}

const countryOf = loadCountries()

export type GatewayFixture = Awaited<ReturnType<typeof startGateway>>

/**
 * Starts the real gateway in this process, on real Kafka and Redis, with its own organization, topic and Redis keys.
 * Other services are absent unless they are given.
 */
export async function startGateway(options: GatewayFixtureOptions = {}) {
  const { besides, requestBudgetMs = PATIENT_BUDGET_MS, keyRing = KEY_RING } = options
  const topic = besides?.topic ?? `gateway-test-${randomUUID()}`
  const keysTopic = `${topic}-keys`
  const redisPrefix = besides?.redisPrefix ?? `test:${randomUUID()}:`
  const keys = besides?.keys ?? {
    admin: newKey('admin', 'P'),
    eraser: newKey('admin', 'P'),
    adminT: newKey('admin', 'T'),
    sdk: newKey('sdk', 'P'),
  }
  const config = besides?.config ?? organizationWith(keys, options)
  const brokers = (options.brokers ?? inject('kafkaBrokers')).split(',')
  const connection = {
    brokers,
    clientId: 'gateway-test',
    ...(options.addressFor && { addressFor: options.addressFor }),
  }
  const reachable = { brokers: inject('kafkaBrokers').split(','), clientId: 'gateway-test' }
  if (!besides) for (const one of [topic, keysTopic]) await createTopic(reachable, one, PARTITIONS)
  const erasuresTopic = besides?.erasuresTopic ?? (options.withErasures ? `${topic}.erasures` : undefined)
  if (erasuresTopic && !besides?.erasuresTopic) await createTopic(reachable, erasuresTopic, 1)

  const logger = createLogger('gateway-test', 'silent')
  const redisUrl = options.redisUrl ?? inject('redisUrl')
  const redis = createRedis({ url: redisUrl, name: 'gateway-test', logger, commandTimeoutMs: 10_000 })
  const subscriber = createRedisSubscriber({ url: redisUrl, name: 'gateway-test', logger })
  const registry = new Registry()
  const erasures = erasuresTopic
    ? createErasureView(connection, { logger, topic: erasuresTopic })
    : { ...givenErasures(), ...options.fences, start: async () => {}, stop: async () => {} }
  const answered: { readonly route: string; readonly status: number }[] = []
  const addressesOf = (service: keyof NonNullable<typeof options.services>) =>
    createAddresses([options.services?.[service] ?? NOBODY])
  const gateway = createGateway({
    requestBudgetMs,
    instanceId: randomUUID(),
    catalog: options.catalog ?? staticCatalog([config], contentsOf(config, options)),
    erasures,
    ...(erasuresTopic && { erasuresTopic }),
    ...(options.changesTopic !== undefined && { changesTopic: options.changesTopic }),
    connection,
    publisher: createPublisher(connection, { logger, requestTimeoutMs: publishTimeoutMs(requestBudgetMs) }),
    redis: redis.client,
    subscriber: subscriber.client,
    services: {
      'user-projector': addressesOf('user-projector'),
      'trait-registry': addressesOf('trait-registry'),
      metering: addressesOf('metering'),
      'form-trigger-evaluator': addressesOf('form-trigger-evaluator'),
      'user-eraser': addressesOf('user-eraser'),
      'answer-collector': addressesOf('answer-collector'),
      'webhook-dispatcher': addressesOf('webhook-dispatcher'),
    },
    internalToken: TEST_TOKEN,
    keyRing,
    maxInFlight: options.maxInFlight ?? 1_000,
    maxBodyBytesInFlight: options.maxBodyBytesInFlight ?? 67_108_864,
    trustedProxies: [...(options.trustedProxies ?? [])],
    countryOf,
    isStopping: () => server.isStopping(),
    metrics: {
      ...createGatewayMetrics(registry),
      onAnswered: (route: { readonly pattern: string }, status: number) =>
        answered.push({ route: route.pattern, status }),
    },
    logger,
    topic,
    keysTopic,
    redisPrefix,
    // The specs' Redis is never unavailable, only slow. Those that pass an address break it.
    ...(!options.redisUrl && { rateLimits: { patienceMs: PATIENT_RATE_LIMIT_MS } }),
  })
  await redis.start()
  await subscriber.start()
  await gateway.userEvents.start()
  await erasures.start()
  let received = 0
  const server = createHttpServer({
    portVariable: 'GATEWAY_PORT',
    host: '127.0.0.1',
    port: 0,
    maxConnections: options.maxConnections ?? 20_000,
    delayMs: options.shutdownDelayMs ?? 0,
    listener: (request, response) => {
      received += 1
      gateway.listener(request, response)
    },
  })
  const { port } = await server.start()
  if (!options.brokers) await until(() => gateway.userEvents.unavailableReason() === undefined)
  if (!options.brokers && options.waitsForErasures !== false) await until(() => erasures.currentAsOfMs() > 0)
  if (!options.redisUrl) await until(gateway.replies.isUp)

  const call = (method: string, path: string, headers: Record<string, string> = {}, body?: string | Buffer) =>
    callOver(port, { method, path, headers, body })
  const post = (path: string, body: unknown, key: string = keys.admin) =>
    call('POST', path, { 'content-type': 'application/json', 'x-api-key': key }, JSON.stringify(body))

  return {
    topic,
    erasuresTopic,
    redisPrefix,
    keys,
    config,
    port,
    gateway,
    redis: redis.client,
    answered,
    /** Numbers of calls to services, by `service call`. */
    serviceCalls: () => countersOf(registry, 'nextvisit_gateway_owner_calls_total'),
    /** Numbers of missing checks of recorded requests, by check; without zeros. */
    unchecked: async () => {
      const counts = await countersOf(registry, 'nextvisit_gateway_unchecked_total')
      return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
    },
    /** Numbers of refused requests and items, by reason. */
    refusals: () => countersOf(registry, 'nextvisit_gateway_refusals_total'),
    /** Counts of dropped device facts, by field. */
    invalidDeviceFields: () => countersOf(registry, 'nextvisit_gateway_invalid_device_fields_total'),
    /** Numbers of refusals that were not kept, by cause. */
    droppedRefusals: () => countersOf(registry, 'nextvisit_gateway_refusals_dropped_total'),
    /** State of the breakers, by name; 1: open. */
    breakers: () => countersOf(registry, 'nextvisit_gateway_breaker_open'),
    /** Number of requests that have reached the app. */
    received: () => received,
    call,
    post,
    identify: (body: object, key?: string) => post('/v2/admin/identify-user', body, key),
    track: (body: object, key?: string) => post('/v2/admin/track-event', body, key),
    visit: (body: object) => post('/v2/sdk/identify-user', body, keys.sdk),
    erase: (body: object, key: string = keys.eraser) => post('/v2/admin/erasures', body, key),
    get: (path: string, key: string = keys.admin) => call('GET', path, { 'x-api-key': key }),
    /** Reads all records of the topic, parsed by their schema and opened with the keys of {@link userKeys}. */
    records: async () => readRecords(reachable, topic, keyRing, () => readUserKeys(reachable, keysTopic)),
    /** Reads the published data keys of users, in the order of each partition. */
    userKeys: () => readUserKeys(reachable, keysTopic),
    stopServer: server.stop,
    stop: async () => {
      await server.stop()
      await gateway.stop()
      await gateway.userEvents.stop()
      await erasures.stop()
      await subscriber.stop()
      await redis.stop()
    },
  }
}

async function countersOf(registry: Registry, name: string): Promise<Readonly<Record<string, number>>> {
  const metric = await registry.getSingleMetric(name)?.get()
  return Object.fromEntries((metric?.values ?? []).map(({ labels, value }) => [Object.values(labels).join(' '), value]))
}

export function newKey(kind: 'admin' | 'sdk', environment: 'P' | 'T'): string {
  return createApiKey(kind, environment, randomBytes(32))
}

function organizationWith(keys: Installation['keys'], { project, plan }: GatewayFixtureOptions): OrganizationConfig {
  const rateLimit = { perSecond: 10_000, burst: 10_000 }
  return OrganizationConfig.parse({
    id: `org-${createHash('sha256').update(keys.admin).digest('hex').slice(0, 12)}`,
    ...(plan && { plan }),
    projects: [
      {
        id: 'shop',
        rateLimits: { admin: rateLimit, sdk: rateLimit },
        keys: [
          { name: 'backend', kind: 'admin', environment: 'P', sha256: hashApiKey(keys.admin) },
          {
            name: 'privacy',
            kind: 'admin',
            environment: 'P',
            sha256: hashApiKey(keys.eraser),
            mayErase: true,
          },
          { name: 'staging', kind: 'admin', environment: 'T', sha256: hashApiKey(keys.adminT) },
          { name: 'web', kind: 'sdk', environment: 'P', sha256: hashApiKey(keys.sdk) },
        ],
        ...project,
      },
    ],
  })
}

function contentsOf({ id: organization }: OrganizationConfig, { contents = [] }: GatewayFixtureOptions) {
  return contents.map((one) => ({ organization, project: 'shop', hash: contentHashOf(one.content), ...one }))
}

async function createTopic(connection: LogConnection, topic: string, partitions: number): Promise<void> {
  await withLogAdmin(connection, async (admin) => {
    await admin.createTopic(topic, { partitions, replicationFactor: 1 })
    await until(async () => (await admin.partitionCount(topic)) === partitions)
  })
}
