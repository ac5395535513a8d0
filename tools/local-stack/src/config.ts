import { homedir } from 'node:os'
import path from 'node:path'
import type { LogConnection } from '@nextvisit/log'
import { kafkaConfig, keyRetentionConfig, readConfig } from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import { StackError } from './errors.ts'

/** Root folder of the checkout. */
export const CHECKOUT = path.resolve(import.meta.dirname, '../../..')

/** Parts that run elsewhere and are not started. */
export interface ExternalParts {
  /** `host:port`, separated by commas. */
  readonly kafkaBrokers?: string
  /** URL with a role that may create schemas and roles. */
  readonly databaseUrl?: string
  /** URLs of single services, by variable (METERING_DATABASE_URL). They take precedence. */
  readonly databaseUrls?: ReadonlyMap<string, string>
  readonly redisUrl?: string
}

interface StartConfig {
  readonly gatewayPort: number
  /** Port of the console; undefined: any free port. */
  readonly consolePort: number | undefined
  readonly dataDirectory: string
  /** Prefix for commands in this checkout, so that they find the data folder: empty for the default one. */
  readonly commandPrefix: string
  readonly workspaceFile: string | undefined
  readonly external: ExternalParts
}

/** Reads the settings of `pnpm start`. Throws INVALID_SETTING. */
export function readStartConfig(environment: NodeJS.ProcessEnv = process.env): StartConfig {
  const given = (name: string): string | undefined => environment[name] || undefined
  const workspaceFile = given('NEXTVISIT_WORKSPACE')
  const kafkaBrokers = given('KAFKA_BROKERS')
  const databaseUrl = given('DATABASE_URL')
  const redisUrl = given('REDIS_URL')
  const consolePort = given('CONSOLE_PORT')
  const databaseUrls = consumers.flatMap(({ databaseVariable }): [string, string][] => {
    const url = given(databaseVariable)
    return url === undefined ? [] : [[databaseVariable, url]]
  })
  // Its services would exit and be restarted until the start gives up.
  if (given('NEXTVISIT_MODE') === 'production' && kafkaBrokers === undefined)
    throw new StackError(
      'INVALID_SETTING',
      'NEXTVISIT_MODE is production, which needs three Kafka brokers, but this start runs one. Unset NEXTVISIT_MODE, or set KAFKA_BROKERS to your own brokers.',
    )
  const dataDirectory = path.resolve(given('NEXTVISIT_DATA') ?? path.join(CHECKOUT, '.nextvisit'))
  return {
    gatewayPort: portOf('GATEWAY_PORT', given('GATEWAY_PORT') ?? '8080'),
    consolePort: consolePort === undefined ? undefined : portOf('CONSOLE_PORT', consolePort),
    dataDirectory,
    commandPrefix: given('NEXTVISIT_DATA') ? `NEXTVISIT_DATA=${shellWord(dataDirectory)} ` : '',
    workspaceFile: workspaceFile && path.resolve(workspaceFile),
    external: {
      databaseUrls: new Map(databaseUrls),
      ...(kafkaBrokers && { kafkaBrokers }),
      ...(databaseUrl && { databaseUrl }),
      ...(redisUrl && { redisUrl }),
    },
  }
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

function portOf(variable: string, text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port
  throw new StackError('INVALID_SETTING', `${variable} is ${text}; it must be a port number, 1 to 65535.`)
}

/** Returns the environment of started processes. Node caches compiled code to speed up the next start. */
export function inheritedEnvironment(): NodeJS.ProcessEnv {
  return { NODE_COMPILE_CACHE: path.join(cacheFolder(), 'node'), ...process.env }
}

/** Returns the services' connection to the log. `own` overrides their inherited environment. Throws a ConfigError. */
export function logConnection(brokers: string, own: NodeJS.ProcessEnv = {}): LogConnection {
  const { kafka } = readConfig(kafkaConfig, { ...inheritedEnvironment(), ...own, KAFKA_BROKERS: brokers })
  return { ...kafka, clientId: 'local-stack' }
}

/** Returns the retention of keys for `createTopics`, if it is set. `own` overrides the inherited environment. Throws a ConfigError. */
export function readKeyRetention(own: NodeJS.ProcessEnv = {}): { readonly keyRetentionMs: number | undefined } {
  return readConfig(keyRetentionConfig, { ...inheritedEnvironment(), ...own })
}

/** Returns the folder for downloads, shared by all checkouts of this user. */
export function cacheFolder(): string {
  return path.join(process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'nextvisit')
}

/** Returns the `java` command from JAVA_HOME, or from the PATH. */
export function javaCommand(): string {
  const home = process.env['JAVA_HOME']
  return home ? path.join(home, 'bin', 'java') : 'java'
}
