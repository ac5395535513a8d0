import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import type { LogConnection } from '@nextvisit/log'
import { ConfigError, type EnvironmentVariables, kafkaConfig, readConfig } from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import { z } from 'zod'
import { CliError, EXIT } from './errors.ts'
import { isRunning } from './is-running.ts'

const CHECKOUT = path.resolve(import.meta.dirname, '../../..')

/** What the local stack writes for commands while it runs; `environment` holds the demo's keys and settings that commands need. */
const ConnectionFile = z.object({
  /** Of the stack. One that was killed has left the file behind. */
  pid: z.number().int().optional(),
  kafkaBrokers: z.union([z.string(), z.array(z.string()).transform((brokers) => brokers.join(','))]).optional(),
  /** By service. */
  databaseUrls: z.record(z.string(), z.string()).default({}),
  /** Of a role that may make schemas. */
  adminDatabaseUrl: z.string().optional(),
  redisUrl: z.string().optional(),
  /** Of internal servers, by variable. */
  serviceUrls: z.record(z.string(), z.string()).default({}),
  internalToken: z.string().optional(),
  secretKey: z.string().optional(),
  environment: z.record(z.string(), z.string()).default({}),
})

/** Each says where a part of some system is. */
const ADDRESSES = [
  'KAFKA_BROKERS',
  'DATABASE_URL',
  'REDIS_URL',
  ...consumers.flatMap(({ databaseVariable, addressesVariable }) => [databaseVariable, addressesVariable]),
]

/**
 * The environment, completed from the local stack's `connection.json` where there is one. If the environment names an
 * address that is not the stack's, it is about another system, and nothing of the stack is taken.
 */
export function readEnvironment(): EnvironmentVariables {
  const given = Object.fromEntries(
    Object.entries(process.env).filter(([, value]) => value !== undefined && value !== ''),
  )
  return otherAddress(given) === undefined ? { ...localStack(given), ...given } : given
}

/** The variable because of which the local stack that runs here is left out; undefined if it is not, or there is none. */
function otherAddress(env: EnvironmentVariables): string | undefined {
  const stack = localStack(env)
  return stack && ADDRESSES.find((name) => env[name] !== undefined && env[name] !== stack[name])
}

/** Begins the message about a missing variable. */
export function notSet(name: string, env: EnvironmentVariables): string {
  return leftOut(env, `${name} is not set. `) ?? `${name} is not set and no local stack runs here.`
}

/** That the local stack is left out, and why, after `before`; undefined if it is not left out. */
export function leftOut(env: EnvironmentVariables, before = ''): string | undefined {
  const other = otherAddress(env)
  return other && `${before}The local stack that runs here is left out, because ${other} is set to another address.`
}

/** As `readConfig`. The error also says so if the local stack is left out. */
export function readSettings<Config>(schema: z.ZodType<Config>, env: EnvironmentVariables): Config {
  try {
    return readConfig(schema, env)
  } catch (error) {
    const hint = leftOut(env)
    if (!(error instanceof ConfigError) || hint === undefined) throw error
    throw new ConfigError(`${error.message}\n${hint}`)
  }
}

/** How to reach the local stack, by variable; undefined if none runs here. */
export function localStack(env: EnvironmentVariables = process.env): EnvironmentVariables | undefined {
  const file = path.join(env['NEXTVISIT_DATA'] || path.join(CHECKOUT, '.nextvisit'), 'connection.json')
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
  const parsed = ConnectionFile.safeParse(parseJson(text))
  if (!parsed.success) throw new CliError(`${file} cannot be read; start the local stack again, or remove it.`)
  const { pid, kafkaBrokers, databaseUrls, adminDatabaseUrl, redisUrl, serviceUrls, internalToken } = parsed.data
  const { secretKey, environment } = parsed.data
  if (pid !== undefined && !isRunning(pid)) return undefined
  const urls = new Map(Object.entries(databaseUrls))
  const ownUrls = consumers.map(({ name, databaseVariable }) => [databaseVariable, urls.get(name)])
  const named = {
    KAFKA_BROKERS: kafkaBrokers,
    DATABASE_URL: adminDatabaseUrl,
    REDIS_URL: redisUrl,
    INTERNAL_TOKEN: internalToken,
    NEXTVISIT_SECRET_KEY: secretKey,
  }
  return { ...environment, ...named, ...serviceUrls, ...Object.fromEntries(ownUrls) }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether neither the environment nor a local stack says where the log is. */
export function knowsNoLog(env: EnvironmentVariables): boolean {
  return env['KAFKA_BROKERS'] === undefined
}

/** Throws what to do where the environment does not say where the log is. */
export function requireLog(env: EnvironmentVariables): void {
  if (!knowsNoLog(env)) return
  const message = `${notSet('KAFKA_BROKERS', env)} Set it to host:port, or start a local stack with npx -y pnpm start.`
  throw new CliError(message, EXIT.usage)
}

/** How to reach the log. Throws what to do where the environment does not say. */
export function logConnection(env: EnvironmentVariables): LogConnection {
  requireLog(env)
  return { ...readConfig(kafkaConfig, env).kafka, clientId: 'nextvisit-cli' }
}

/** Who runs the command, as the operating system names them. */
export function operatingUser(): string {
  try {
    return userInfo().username
  } catch {
    // A container's user may have no name.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
