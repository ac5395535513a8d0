import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import type { LogConnection } from '@nextvisit/log'
import { ConfigError, type EnvironmentVariables, kafkaConfig, readConfig } from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import { z } from 'zod'
import { CliError, EXIT } from '../errors.ts'
import { isRunning } from './process-info.ts'

const CHECKOUT = path.resolve(import.meta.dirname, '../../../..')

/** The local stack's settings for commands, written while it runs. `environment` has the demo's keys and other settings. */
const ConnectionFile = z.object({
  /** The stack's process. A killed stack leaves the file behind. */
  pid: z.number().int().optional(),
  kafkaBrokers: z.union([z.string(), z.array(z.string()).transform((brokers) => brokers.join(','))]).optional(),
  /** Addresses by service. */
  databaseUrls: z.record(z.string(), z.string()).default({}),
  /** Address for a role that may create schemas. */
  adminDatabaseUrl: z.string().optional(),
  redisUrl: z.string().optional(),
  /** Addresses of internal servers, by variable. */
  serviceUrls: z.record(z.string(), z.string()).default({}),
  internalToken: z.string().optional(),
  secretKey: z.string().optional(),
  environment: z.record(z.string(), z.string()).default({}),
})

/** Variables with the address of a part of a system. */
const ADDRESSES = [
  'KAFKA_BROKERS',
  'DATABASE_URL',
  'REDIS_URL',
  'GATEWAY_INTERNAL_URLS',
  ...consumers.flatMap(({ databaseVariable, addressesVariable }) => [databaseVariable, addressesVariable]),
]

/**
 * Returns the environment, completed from the local stack's `connection.json` if there is one. An address in the
 * environment that is not the stack's names another system, and then nothing of the stack is used.
 */
export function readEnvironment(): EnvironmentVariables {
  const given = Object.fromEntries(
    Object.entries(process.env).filter(([, value]) => value !== undefined && value !== ''),
  )
  return otherAddress(given) === undefined ? { ...localStack(given), ...given } : given
}

/** Returns the variable that names another system than the local stack; undefined if none does, or no stack runs here. */
function otherAddress(env: EnvironmentVariables): string | undefined {
  const stack = localStack(env)
  return stack && ADDRESSES.find((name) => env[name] !== undefined && env[name] !== stack[name])
}

/** Returns the beginning of the message about a missing variable. */
export function notSet(name: string, env: EnvironmentVariables): string {
  return ignoredStack(env, `${name} is not set. `) ?? `${name} is not set and ${noLocalStack(env)}.`
}

/** Says that there is no local stack. Names its data folder, and NEXTVISIT_DATA, which may be missing or wrong. */
export function noLocalStack(env: EnvironmentVariables, first: 'no' | 'No' = 'no'): string {
  const folder = dataFolder(env)
  const where = env['NEXTVISIT_DATA']
    ? `with NEXTVISIT_DATA=${folder}`
    : `(its data would be in ${folder}; if it was started with NEXTVISIT_DATA, set that here, too)`
  return `${first} local stack runs here ${where}`
}

function dataFolder(env: EnvironmentVariables): string {
  return env['NEXTVISIT_DATA'] || path.join(CHECKOUT, '.nextvisit')
}

/** Returns `before` and the reason why the local stack is ignored; undefined if it is not ignored. */
export function ignoredStack(env: EnvironmentVariables, before = ''): string | undefined {
  const other = otherAddress(env)
  return other && `${before}Ignoring the local stack that runs here, because ${other} is set to another address.`
}

/** Reads settings like `readConfig`. The error also reports an ignored or missing local stack. */
export function readSettings<Config>(schema: z.ZodType<Config>, env: EnvironmentVariables): Config {
  try {
    return readConfig(schema, env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const missing = localStack(env) ? undefined : `${noLocalStack(env, 'No')}.`
    const hint = ignoredStack(env) ?? missing
    throw hint === undefined ? error : new ConfigError(`${error.message}\n${hint}`)
  }
}

/** Returns the settings of the local stack by variable; undefined if none runs here. */
export function localStack(env: EnvironmentVariables = process.env): EnvironmentVariables | undefined {
  const file = path.join(dataFolder(env), 'connection.json')
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
  const parsed = ConnectionFile.safeParse(parseJson(text))
  if (!parsed.success) throw new CliError(`${file} cannot be read. Restart the local stack, or remove the file.`)
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

/** Throws a {@link CliError} with the remedy if the environment does not name the log. */
export function requireLog(env: EnvironmentVariables): void {
  if (env['KAFKA_BROKERS'] !== undefined) return
  const message = `${notSet('KAFKA_BROKERS', env)} Set it to host:port, or start a local stack with npx -y pnpm start.`
  throw new CliError(message, EXIT.usage)
}

/** Returns the connection to the log. Throws like {@link requireLog}. */
export function logConnection(env: EnvironmentVariables): LogConnection {
  requireLog(env)
  return { ...readConfig(kafkaConfig, env).kafka, clientId: 'nextvisit-cli' }
}

/** Returns the operating system's name for the user of the command. */
export function operatingUser(): string {
  try {
    return userInfo().username
  } catch {
    // A container's user may have no name.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
