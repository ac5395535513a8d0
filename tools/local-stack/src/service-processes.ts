import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parseEnv } from 'node:util'
import { consumers as allConsumers } from '@nextvisit/services'
import { CHECKOUT, inheritedEnvironment } from './config.ts'
import type { Connection } from './connection-file.ts'
import { freePort } from './free-port.ts'
import type { ProcessPlan } from './owned-process.ts'
import type { Scale } from './scale.ts'
import { demoKeysFileIn, type StackSecrets } from './stack-secrets.ts'

/** Process of the gateway, a consumer or the console. */
export interface ServiceProcess {
  readonly name: string
  readonly plan: ProcessPlan
  /** URL of its internal port. */
  readonly internalUrl: string
  /** Resolves to whether requests would succeed. */
  readonly isReady: () => Promise<boolean>
}

export interface ServicesOptions extends Connection {
  readonly dataDirectory: string
  readonly gatewayPort: number
  /** Port of the console; absent: no console is started. */
  readonly consolePort?: number | undefined
  readonly secrets: StackSecrets
  /** Default: one process of each consumer. */
  readonly scale?: Scale | undefined
  /** Returns the file to run for a program, for example `services/metering/src/main.ts`. Default: this file of the checkout. */
  readonly programOf?: ((source: string) => string) | undefined
  /** Overrides the services' inherited environment. */
  readonly environment: NodeJS.ProcessEnv
  readonly onLine: (service: string, line: string) => void
}

export interface ServiceProcesses {
  readonly gateway: ServiceProcess
  /** The first process of each consumer, each followed by its replicas. */
  readonly consumers: readonly ServiceProcess[]
  readonly console: ServiceProcess | undefined
  /** URLs of the consumers' internal servers, by the variable that their clients read. */
  readonly serviceUrls: ReadonlyMap<string, string>
}

/** Returns the plans of all services. Each gets only its own settings: a consumer knows only its own database. */
export async function serviceProcesses(options: ServicesOptions): Promise<ServiceProcesses> {
  const serviceUrls = new Map<string, string>()
  const consumers: ServiceProcess[] = []
  for (const { name, databaseVariable, addressesVariable, opensRecords } of allConsumers) {
    const internalPort = await freePort()
    const url = options.databaseUrls.get(databaseVariable)
    const asksOthers = name === 'user-eraser' || name === 'webhook-dispatcher'
    const consumer = serviceProcess(name, internalPort, options, {
      [databaseVariable]: url,
      // It asks the consumers before it.
      ...(asksOthers && Object.fromEntries(serviceUrls)),
      ...((opensRecords || asksOthers) && { NEXTVISIT_SECRET_KEY: options.secrets.secretKey }),
    })
    const processes = [consumer]
    for (let number = 2; number <= (options.scale?.get(name) ?? 1); number += 1)
      processes.push(await replicaOf(consumer, `${name}-${number}`, {}))
    serviceUrls.set(addressesVariable, processes.map(({ internalUrl }) => internalUrl).join(','))
    consumers.push(...processes)
  }
  const gateway = serviceProcess('gateway', await freePort(), options, {
    GATEWAY_PORT: String(options.gatewayPort),
    NEXTVISIT_SECRET_KEY: options.secrets.secretKey,
    ...Object.fromEntries(serviceUrls),
  })
  const console = options.consolePort === undefined ? undefined : await consoleProcess(options, gateway, serviceUrls)
  const urlsForCommands = new Map([...serviceUrls, ['GATEWAY_INTERNAL_URLS', gateway.internalUrl]])
  return { gateway, consumers, console, serviceUrls: urlsForCommands }
}

async function consoleProcess(
  options: ServicesOptions,
  gateway: ServiceProcess,
  serviceUrls: ReadonlyMap<string, string>,
): Promise<ServiceProcess> {
  const { secrets, consolePort, gatewayPort, dataDirectory, adminDatabaseUrl, databaseUrls } = options
  return serviceProcess('console', await freePort(), options, {
    CONSOLE_PORT: String(consolePort),
    CONSOLE_TOKEN: secrets.consoleToken,
    CONSOLE_VIEWER_TOKEN: secrets.consoleViewerToken,
    NEXTVISIT_SECRET_KEY: secrets.secretKey,
    CONSOLE_GATEWAY_URL: `http://127.0.0.1:${gatewayPort}`,
    CONSOLE_DEMO_KEYS_FILE: demoKeysFileIn(dataDirectory),
    CONSOLE_CLI: programOf(options, 'tools/cli/src/main.ts'),
    CONSOLE_REPLAY_FILE: path.join(dataDirectory, 'console-replay.json'),
    // One address suffices for all schemas, unless consumers have their own databases.
    ...(isOneDatabase([adminDatabaseUrl, ...databaseUrls.values()]) && {
      CONSOLE_OPERATOR_DATABASE_URL: adminDatabaseUrl,
    }),
    GATEWAY_INTERNAL_URLS: gateway.internalUrl,
    ...Object.fromEntries(serviceUrls),
  })
}

function isOneDatabase(urls: readonly string[]): boolean {
  return (
    new Set(urls.map((url) => (URL.canParse(url) ? `${new URL(url).host}${new URL(url).pathname}` : url))).size === 1
  )
}

/**
 * Returns the plan of another process of a service, called `name`, on its own ports. `own` overrides the environment of
 * the first.
 */
export async function replicaOf(
  { plan }: ServiceProcess,
  name: string,
  own: NodeJS.ProcessEnv,
): Promise<ServiceProcess> {
  const { INTERNAL_HOST: host = '127.0.0.1', INTERNAL_PORT: port = await freePort() } = own
  return {
    name,
    ...onInternalPort(port, host),
    plan: {
      ...plan,
      name,
      env: { ...plan.env, INTERNAL_PORT: String(port), ...own },
      logFile: path.join(path.dirname(plan.logFile), `${name}.log`),
    },
  }
}

function onInternalPort(port: number | string, host = '127.0.0.1'): Pick<ServiceProcess, 'internalUrl' | 'isReady'> {
  const internalUrl = `http://${host}:${port}`
  return { internalUrl, isReady: () => answersOk(`${internalUrl}/readyz`) }
}

function serviceProcess(
  name: string,
  internalPort: number,
  options: ServicesOptions,
  own: NodeJS.ProcessEnv,
): ServiceProcess {
  const inherited = withLimits({ ...inheritedEnvironment(), ...options.environment })
  delete inherited['DATABASE_URL']
  for (const { databaseVariable } of allConsumers) delete inherited[databaseVariable]
  return {
    name,
    ...onInternalPort(internalPort),
    plan: {
      name,
      command: process.execPath,
      args: [programOf(options, `services/${name}/src/main.ts`)],
      cwd: path.join(CHECKOUT, 'services', name),
      env: {
        ...inherited,
        KAFKA_BROKERS: options.kafkaBrokers,
        REDIS_URL: options.redisUrl,
        INTERNAL_HOST: '127.0.0.1',
        INTERNAL_PORT: String(internalPort),
        INTERNAL_TOKEN: options.secrets.internalToken,
        ...own,
      },
      logFile: path.join(options.dataDirectory, 'logs', `${name}.log`),
      onLine: (line) => options.onLine(name, line),
    },
  }
}

function programOf(options: ServicesOptions, source: string): string {
  return options.programOf?.(source) ?? path.join(CHECKOUT, source)
}

/** Adds the memory limits of infra/service.env. Node options of the environment take precedence. */
function withLimits(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const limits = parseEnv(readFileSync(path.join(CHECKOUT, 'infra/service.env'), 'utf8'))
  const { NODE_OPTIONS: ours = '' } = limits
  const { NODE_OPTIONS: given = '' } = environment
  return { ...limits, ...environment, NODE_OPTIONS: `${ours} ${given}`.trim() }
}

async function answersOk(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
    async (response) => {
      await response.body?.cancel()
      return response.ok
    },
    () => false,
  )
}
