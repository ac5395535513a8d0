import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { createTopics } from '@nextvisit/cli/create-topics'
import type { Workspace } from '@nextvisit/cli/workspace'
import type { OrganizationConfig } from '@nextvisit/contracts'
import { consumers as allConsumers } from '@nextvisit/services'
import { CHECKOUT, type ExternalParts, logConnection, readKeyRetention } from './config.ts'
import { type Connection, removeConnectionFile, writeConnectionFile } from './connection-file.ts'
import { groupMembers, waitUntilConsumed } from './consumer-groups.ts'
import { requireSpace, takeDataDirectory } from './data-directory.ts'
import { StackError } from './errors.ts'
import { requirePort } from './free-port.ts'
import { createLogSummary } from './log-summary.ts'
import { startOwnedProcess } from './owned-process.ts'
import type { Part, PartOptions } from './part.ts'
import type { Scale } from './scale.ts'
import { type DatabaseAddresses, needsNoPostgres, prepareDatabases } from './prepare-databases.ts'
import { createProcessTable, type ProcessTable } from './process-table.ts'
import { replicaOf, serviceProcesses, type ServiceProcess, type ServiceProcesses } from './service-processes.ts'
import { readStackSecrets, type StackSecrets, writeDemoKeys } from './stack-secrets.ts'
import { startKafka } from './start-kafka.ts'
import { startPostgres } from './start-postgres.ts'
import { startRedis } from './start-redis.ts'
import { applyToCatalog, readWorkspace } from './workspace-step.ts'

export interface StackOptions {
  /** Folder for data kept between starts. Only one stack may use it at a time. */
  readonly dataDirectory: string
  readonly gatewayPort: number
  /** Port of the console. Default: no console is started. */
  readonly consolePort?: number | undefined
  /** Workspace file to apply. Default: the demo workspace. */
  readonly workspaceFile?: string | undefined
  /** External parts to use instead of starting them. */
  readonly external?: ExternalParts
  /** False in tests: no fsync (data of a killed process survives), and nothing is kept. */
  readonly durable?: boolean
  /** Kafka's port, and the port of a proxy that Kafka advertises to clients. */
  readonly kafkaPorts?: { readonly port: number; readonly advertisedPort: number }
  /** Default: one process of each consumer. */
  readonly scale?: Scale
  /** Returns the file to run for a program, for example a bundle of `services/metering/src/main.ts`. Default: this file of the checkout. */
  readonly programOf?: (source: string) => string
  /** Additional environment of services. */
  readonly serviceEnvironment?: NodeJS.ProcessEnv
  /** Receives a line for each step and for each later event. */
  readonly onProgress?: (line: string) => void
  /** Aborts the start and ends its processes. */
  readonly signal?: AbortSignal
}

/** A running stack. Its processes are named postgres, kafka, redis, gateway, console, and after the consumer services. */
export interface Stack {
  readonly gatewayUrl: string
  /** The console; undefined without a `consolePort`. */
  readonly console: { readonly url: string; readonly token: string; readonly viewerToken: string } | undefined
  /** Keys of the demo. */
  readonly keys: { readonly admin: string; readonly sdk: string }
  /** NEXTVISIT_SECRET_KEY of its services. */
  readonly secretKey: string
  readonly organizations: readonly OrganizationConfig[]
  readonly brokers: readonly string[]
  /** Database URLs of the services, by variable (METERING_DATABASE_URL). */
  readonly databaseUrls: ReadonlyMap<string, string>
  /** URL for a superuser. */
  readonly adminDatabaseUrl: string
  readonly redisUrl: string
  /** Returns the internal URL of a service's first process. */
  readonly internalUrlOf: (service: string) => string
  /** Starts another process of a service, for example `gateway-2`. `own` overrides the environment of the first. */
  readonly startReplica: (
    service: string,
    own?: NodeJS.ProcessEnv,
  ) => Promise<{ readonly name: string; readonly internalUrl: string }>
  readonly processes: ProcessTable['processes']
  /** Sends a signal to a process. If the process ends, it is restarted. */
  readonly kill: ProcessTable['kill']
  /** Stops a process permanently. */
  readonly stopReplica: (name: string) => Promise<void>
  readonly stop: () => Promise<void>
}

export const DEMO_WORKSPACE = path.join(CHECKOUT, 'infra/demo-workspace.yaml')

const CONSUMERS = allConsumers.map(({ name }) => name)
/** Order of the stop: services with their replicas first, then their parts. */
const STOP_ORDER = [['console'], ['gateway'], CONSUMERS, ['redis'], ['kafka'], ['postgres']]
const FULL_BELOW_BYTES = 16 * 2 ** 20

/**
 * Starts everything on this machine: Postgres, Kafka, Redis, schemas, topics, the workspace and the services. If it fails,
 * it rejects with a StackError that names the remedy, and leaves nothing running.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const release = await takeDataDirectory(options.dataDirectory)
  const giveUp = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, giveUp.signal]) : giveUp.signal
  const report = options.onProgress ?? (() => {})
  const table = createProcessTable({ report: (line) => report(`! ${line}`), signal })
  const stop = async (): Promise<void> => {
    giveUp.abort()
    await removeConnectionFile(options.dataDirectory)
    for (const services of STOP_ORDER) await table.stop([...table.processes().keys()].filter(isOneOf(services)))
    await release()
  }
  try {
    const stack = await bringUp({ ...options, table, report, giveUp, signal })
    const stopReplica = (name: string): Promise<void> => table.stop([name])
    return { ...stack, processes: table.processes, kill: table.kill, stopReplica, stop }
  } catch (error) {
    await stop()
    await requireSpace(options.dataDirectory, FULL_BELOW_BYTES) // a full disk causes various errors that do not name it
    throw error
  }
}

interface Start extends StackOptions {
  readonly table: ProcessTable
  readonly report: (line: string) => void
  readonly giveUp: AbortController
  readonly signal: AbortSignal
}

async function bringUp(start: Start): Promise<Omit<Stack, 'processes' | 'kill' | 'stopReplica' | 'stop'>> {
  const secrets = await readStackSecrets(start.dataDirectory)
  const workspace = await readWorkspace(start.workspaceFile ?? DEMO_WORKSPACE, secrets)
  await requirePort('GATEWAY_PORT', start.gatewayPort)
  if (start.consolePort !== undefined) await requirePort('CONSOLE_PORT', start.consolePort)
  await writeDemoKeys(start.dataDirectory, secrets)
  const [kafkaBrokers, { databaseUrls, adminUrl }, redisUrl] = await allOrNone(start, [
    prepareLog(start, workspace, secrets),
    prepareRows(start, secrets),
    start.external?.redisUrl ?? startPart(start, 'Redis', startRedis).then((redis) => redis.url),
    step(start, 'Prisma clients', () => runScript('packages/database/scripts/generate-clients.ts', start.signal)),
    start.consolePort === undefined
      ? undefined
      : step(start, 'Console pages', () => runScript('services/console/scripts/build-web.ts', start.signal)),
  ])
  const connection = { kafkaBrokers, databaseUrls, adminDatabaseUrl: adminUrl, redisUrl }
  const { gateway, consumers, serviceUrls } = await startServices(start, connection, secrets)
  const services = [gateway, ...consumers]
  const started = new Map<string, number>(start.scale)
  await writeConnectionFile(start.dataDirectory, { ...connection, serviceUrls }, secrets)
  return {
    gatewayUrl: `http://127.0.0.1:${start.gatewayPort}`,
    console:
      start.consolePort === undefined
        ? undefined
        : {
            url: `http://127.0.0.1:${start.consolePort}`,
            token: secrets.consoleToken,
            viewerToken: secrets.consoleViewerToken,
          },
    keys: { admin: secrets.adminKey, sdk: secrets.sdkKey },
    secretKey: secrets.secretKey,
    organizations: workspace.organizations,
    brokers: kafkaBrokers.split(','),
    databaseUrls,
    adminDatabaseUrl: adminUrl,
    redisUrl,
    internalUrlOf: (service) => serviceNamed(services, service).internalUrl,
    startReplica: async (service, own = {}) => {
      const number = (started.get(service) ?? 1) + 1
      started.set(service, number)
      const replica = await replicaOf(serviceNamed(services, service), `${service}-${number}`, own)
      await startService(start, replica)
      return replica
    },
  }
}

/** Returns a predicate for process names of these services: `gateway-2` is a process of `gateway`. */
function isOneOf(services: readonly string[]): (name: string) => boolean {
  return (name) => services.includes(name.replace(/-\d+$/, ''))
}

function serviceNamed(services: readonly ServiceProcess[], name: string): ServiceProcess {
  const found = services.find((service) => service.name === name)
  if (!found) throw new RangeError(`There is no service ${name}.`)
  return found
}

/** Starts Kafka, creates the topics and applies the workspace. */
async function prepareLog(start: Start, workspace: Workspace, secrets: StackSecrets): Promise<string> {
  const { port, advertisedPort } = start.kafkaPorts ?? {}
  const launch = (options: PartOptions) =>
    startKafka({ ...options, ...(port !== undefined && { port }), advertisedPort })
  const brokers = start.external?.kafkaBrokers ?? (await startPart(start, 'Kafka', launch)).brokers
  const connection = logConnection(brokers, start.serviceEnvironment)
  const retention = readKeyRetention(start.serviceEnvironment)
  const topics = await step(start, 'Topics', () => createTopics(connection, retention))
  for (const [topic, outcome] of topics) {
    if (outcome !== 'created' && outcome !== 'exists') start.report(`  ${topic}: ${outcome}`)
  }
  await step(start, 'Workspace', () =>
    applyToCatalog({ connection, workspace, secretKey: secrets.secretKey, report: start.report }),
  )
  return brokers
}

/** Starts Postgres and prepares every service's schema. */
async function prepareRows(start: Start, secrets: StackSecrets): Promise<DatabaseAddresses> {
  const { external = {} } = start
  const password = secrets.databasePassword
  const postgres = needsNoPostgres(external)
    ? undefined
    : await startPart(start, 'Postgres', (options) => startPostgres({ ...options, password }))
  return step(start, 'Schemas', () => prepareDatabases(postgres?.url, external, secrets))
}

async function startServices(start: Start, connection: Connection, secrets: StackSecrets): Promise<ServiceProcesses> {
  const onLine = createLogSummary(start.report)
  const { serviceEnvironment: environment = {} } = start
  const services = await serviceProcesses({ ...connection, ...start, secrets, environment, onLine })
  const { consumers, gateway } = services
  const log = logConnection(connection.kafkaBrokers, environment)
  const former = await groupMembers(log)
  await allOrNone(
    start,
    // The console starts without the others, because it shows their failures.
    [...consumers, ...(services.console ? [services.console] : [])].map((service) => startService(start, service)),
  )
  await step(start, 'Partitions', () => waitUntilConsumed(log, former, start.signal))
  await startService(start, gateway)
  return services
}

/**
 * Starts a service, and waits until it is ready, at the first start only. A restart may happen while its parts are
 * unavailable.
 */
async function startService(start: Start, { name, plan, isReady }: ServiceProcess): Promise<void> {
  let wait: (() => Promise<boolean>) | undefined = isReady
  await step(start, name, () =>
    start.table.start(name, (signal) => startOwnedProcess({ ...plan, signal, isReady: wait })),
  )
  wait = undefined
}

/** Starts a part and keeps it running on the same port. */
async function startPart<P extends Part>(
  start: Start,
  name: string,
  launch: (options: PartOptions) => Promise<P>,
): Promise<P> {
  const key = name.toLowerCase()
  const options = {
    dataDirectory: path.join(start.dataDirectory, key),
    logFile: path.join(start.dataDirectory, 'logs', `${key}.log`),
    durable: start.durable ?? true,
    onWait: (what: string) => start.report(`… ${what}`),
  }
  const { promise, resolve } = Promise.withResolvers<P>()
  let port: number | undefined
  await step(start, name, () =>
    start.table.start(key, async (signal) => {
      const part = await launch({ ...options, signal, ...(port !== undefined && { port }) })
      port = part.port
      resolve(part)
      return part
    }),
  )
  return promise
}

async function runScript(script: string, signal: AbortSignal): Promise<void> {
  const run = promisify(execFile)(process.execPath, [path.join(CHECKOUT, script)], { signal })
  await run.catch((cause: Error & { stderr?: string }) => {
    throw new StackError('STEP_FAILED', `${script} failed: ${cause.stderr?.trim() || cause.message}`, { cause })
  })
}

async function step<T>(start: Start, name: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  const result = await work()
  start.report(`✓ ${name.padEnd(24)} ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  return result
}

/** Resolves to all results. If one fails, waits until all others have ended, then throws the first error. */
async function allOrNone<const T extends readonly unknown[]>(
  { giveUp }: Start,
  tasks: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  try {
    return await Promise.all(tasks)
  } catch (error) {
    giveUp.abort()
    await Promise.allSettled(tasks)
    throw error
  }
}
