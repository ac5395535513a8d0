import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import type { LogConnection } from '@nextvisit/log'
import { type Environment, kafkaConfig, readConfig } from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import { z } from 'zod'
import { CliError, EXIT } from './errors.ts'
import { isRunning } from './is-running.ts'

const CHECKOUT = path.resolve(import.meta.dirname, '../../..')

/** What the local stack writes for commands while it runs; `environment` is for the demo's keys. */
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

/** The environment; what it leaves open is taken from the local stack's `connection.json`, where there is one. */
export function readEnvironment(): Environment {
  const given = Object.entries(process.env).filter(([, value]) => value !== undefined && value !== '')
  return { ...localStack(), ...Object.fromEntries(given) }
}

function localStack(): Environment {
  const file = path.join(process.env['NEXTVISIT_DATA'] || path.join(CHECKOUT, '.nextvisit'), 'connection.json')
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return {}
  }
  const parsed = ConnectionFile.safeParse(parseJson(text))
  if (!parsed.success) throw new CliError(`${file} cannot be read; start the local stack again, or remove it.`)
  const { pid, kafkaBrokers, databaseUrls, adminDatabaseUrl, redisUrl, serviceUrls, internalToken } = parsed.data
  const { secretKey, environment } = parsed.data
  if (pid !== undefined && !isRunning(pid)) return {}
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

const NO_STACK =
  'KAFKA_BROKERS is not set and no local stack runs here. Set it to host:port, or start one with npx -y pnpm start.'

/** Whether neither the environment nor a local stack says where the log is. */
export function knowsNoLog(env: Environment): boolean {
  return env['KAFKA_BROKERS'] === undefined
}

/** Throws what to do where the environment does not say where the log is. */
export function requireLog(env: Environment): void {
  if (knowsNoLog(env)) throw new CliError(NO_STACK, EXIT.usage)
}

/** How to reach the log. Throws what to do where the environment does not say. */
export function logConnection(env: Environment): LogConnection {
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
