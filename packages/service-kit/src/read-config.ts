import { addressesVariable, DEFAULT_PARTITIONS, durationMs, type ServiceName } from '@nextvisit/contracts'
import { type KeyRing, parseKeyRing, SECRET_KEY_VARIABLE } from '@nextvisit/sealing'
import { z, type ZodType } from 'zod'
import { type Addresses, createAddresses, isServiceAddress } from './addresses.ts'
import { ConfigError } from './errors.ts'

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/**
 * Reads a service's configuration from its environment. `schema` is a zod object over variable names, or several joined:
 * `kafkaConfig.and(redisConfig).and(z.object({ … }))`. An empty variable counts as absent.
 *
 * Throws {@link ConfigError}, which lists every invalid variable with the expected form, but without its value.
 */
export function readConfig<Config>(schema: ZodType<Config>, env: EnvironmentVariables): Config {
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
  const result = schema.safeParse(present)
  if (result.success) return result.data
  const faults = result.error.issues.map(({ path, message }) => {
    const name = String(path[0] ?? 'environment')
    return `${name} is ${Object.hasOwn(present, name) ? 'wrong' : 'not set'}: ${message}`
  })
  throw new ConfigError(
    `The environment needs a change.\n${[...new Set(faults)].map((fault) => `  ${fault}`).join('\n')}`,
  )
}

/** Returns the configuration of a `main.ts`. If it is invalid, prints the faults to standard error and exits with 2. */
export function configOrExit<Config>(read: () => Config): Config {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(2)
  }
}

// Parts of a configuration. Their messages name the expected form and never repeat a value, which may be secret.

const host = (fallback: string) => z.string().default(fallback)
/** A port to listen on; 0 takes any free one. */
export const port = z.coerce
  .number('must be a port from 0 to 65535')
  .int('must be a port from 0 to 65535')
  .min(0, 'must be a port from 0 to 65535')
  .max(65_535, 'must be a port from 0 to 65535')
const flag = z.enum(['true', 'false'], 'must be true or false').transform((value) => value === 'true')

function commaSeparated(example: string, isGood: (item: string) => boolean) {
  const message = `must be ${example}; several separated by commas`
  return z
    .string(message)
    .transform((text) => text.split(',').map((item) => item.trim()))
    .refine((items) => items.every(isGood), message)
}

function hasProtocol(text: string, protocols: readonly string[]): boolean {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol)
}

/** A required address with one of these protocols, such as `redis://host:6379`. */
function address(example: string, protocols: readonly string[]) {
  const message = `must be an address like ${example}`
  return z.string(message).refine((text) => hasProtocol(text, protocols), message)
}

/** Address of Postgres. */
export const databaseAddress = address('postgresql://role:password@host:5432/database', ['postgresql:', 'postgres:'])

const PARTITIONS = 'must be how many partitions the topics have, such as 12; 12/24 if only the first 12 of 24 are used'

const partitions = z
  .string(PARTITIONS)
  .regex(/^[1-9]\d{0,4}(\/[1-9]\d{0,4})?$/, PARTITIONS)
  .transform((text) => {
    const [keyPartitions = 0, inTopic = keyPartitions] = text.split('/').map(Number)
    return { keyPartitions, inTopic }
  })
  .refine(({ keyPartitions, inTopic }) => keyPartitions <= inTopic, PARTITIONS)

/** `kafka`: a connection for `@nextvisit/log`, without the `clientId`. */
export const kafkaConfig = z
  .object({
    KAFKA_BROKERS: commaSeparated('host:port', (item) => /^[^\s:/]+:\d+$/.test(item)),
    KAFKA_TLS: flag.default(false),
    KAFKA_SASL_MECHANISM: z
      .enum(['plain', 'scram-sha-256', 'scram-sha-512'], 'must be plain, scram-sha-256 or scram-sha-512')
      .optional(),
    KAFKA_SASL_USERNAME: z.string().optional(),
    KAFKA_SASL_PASSWORD: z.string().optional(),
    KAFKA_PARTITIONS: partitions.default({ keyPartitions: DEFAULT_PARTITIONS, inTopic: DEFAULT_PARTITIONS }),
  })
  .transform((env, context) => {
    const connection = { brokers: env.KAFKA_BROKERS, tls: env.KAFKA_TLS, partitions: env.KAFKA_PARTITIONS }
    const mechanism = env.KAFKA_SASL_MECHANISM
    if (mechanism === undefined) return { kafka: connection }
    const { KAFKA_SASL_USERNAME: username, KAFKA_SASL_PASSWORD: password } = env
    if (username === undefined || password === undefined) {
      const missing = username === undefined ? 'KAFKA_SASL_USERNAME' : 'KAFKA_SASL_PASSWORD'
      context.addIssue({ code: 'custom', path: [missing], message: 'is needed with KAFKA_SASL_MECHANISM' })
      return z.NEVER
    }
    return { kafka: { ...connection, sasl: { mechanism, username, password } } }
  })

const RETENTION = 'must be a duration such as 24h, 90m or 30s, at least 10s'
const LEAST_RETENTION_MS = 10_000

/**
 * `keyRetentionMs`: the time within which the keys of erased users leave the log. Digits alone are seconds. Without the
 * variable, the topic keeps its retention.
 */
export const keyRetentionConfig = z
  .object({
    ERASURE_KEY_RETENTION: z
      .string()
      .transform((text) => (/^\d+$/.test(text) ? `${text}s` : text))
      .pipe(
        z
          .string()
          .regex(/^\d{1,9}[smhd]$/, RETENTION)
          .transform(durationMs),
      )
      .refine((ms) => ms >= LEAST_RETENTION_MS, RETENTION)
      .optional(),
  })
  .transform((env) => ({ keyRetentionMs: env.ERASURE_KEY_RETENTION }))

/** `redisUrl`: address of Redis. */
export const redisConfig = z
  .object({ REDIS_URL: address('redis://host:6379', ['redis:', 'rediss:']) })
  .transform((env) => ({ redisUrl: env.REDIS_URL }))

/** `databaseUrl`: the service's own variable takes precedence over `DATABASE_URL`. */
export function databaseConfig(specificName: string) {
  return z
    .object({ [specificName]: databaseAddress.optional(), DATABASE_URL: databaseAddress.optional() })
    .transform((env, context) => {
      const databaseUrl = env[specificName] ?? env['DATABASE_URL']
      if (databaseUrl !== undefined) return { databaseUrl }
      const message = 'must be an address like postgresql://role:password@host:5432/database; DATABASE_URL will do'
      context.addIssue({ code: 'custom', path: [specificName], message })
      return z.NEVER
    })
}

/** Token shared by people or services. A short one could be guessed. */
export const token = z
  .string('must be a secret of 16 characters or more')
  .min(16, 'must be a secret of 16 characters or more')

/** Tokens of INTERNAL_TOKEN. Three are enough for a rotation that is repeated. */
const MAX_INTERNAL_TOKENS = 3
const INTERNAL_TOKENS = `must be a secret of 16 characters or more; during a rotation up to ${MAX_INTERNAL_TOKENS}, separated by commas`

/** Several tokens during a rotation: a process sends the first, and accepts all (rotate-secrets.md). */
const internalTokens = z
  .string(INTERNAL_TOKENS)
  .transform((text) => text.split(',').map((one) => one.trim()))
  .refine((tokens) => tokens.length <= MAX_INTERNAL_TOKENS && tokens.every((one) => one.length >= 16), INTERNAL_TOKENS)
  .transform(([first = '', ...others]) => ({ token: first, acceptedTokens: [first, ...others] }))

/** `internalToken`: the token of a process that calls services but has no internal port. */
export const internalTokenConfig = z
  .object({ INTERNAL_TOKEN: internalTokens })
  .transform((env) => ({ internalToken: env.INTERNAL_TOKEN.token }))

/** `keyRing`: the keys of NEXTVISIT_SECRET_KEY; undefined if it is not set. */
export const keyRingConfig = z
  .object({ [SECRET_KEY_VARIABLE]: z.string().optional() })
  .transform((env, context): { readonly keyRing: KeyRing | undefined } => {
    const text = env[SECRET_KEY_VARIABLE]
    if (text === undefined) return { keyRing: undefined }
    const parsed = parseKeyRing(text)
    if (parsed.outcome === 'ok') return { keyRing: parsed.ring }
    context.addIssue({ code: 'custom', path: [SECRET_KEY_VARIABLE], message: parsed.reason })
    return z.NEVER
  })

/** `keyRing`: the same, for a process that cannot do without. */
export const requiredKeyRingConfig = keyRingConfig.transform(({ keyRing }, context): { readonly keyRing: KeyRing } => {
  if (keyRing) return { keyRing }
  const message = 'must be 1 to 8 keys of 64 hexadecimal characters, as of the gateway'
  context.addIssue({ code: 'custom', path: [SECRET_KEY_VARIABLE], message })
  return z.NEVER
})

/** `internalServer`: host, port and tokens of the internal port. */
export const internalServerConfig = z
  .object({
    // A container sets 0.0.0.0, and does not publish the port.
    INTERNAL_HOST: host('127.0.0.1'),
    INTERNAL_PORT: port,
    INTERNAL_TOKEN: internalTokens,
  })
  .transform((env) => ({
    internalServer: { host: env.INTERNAL_HOST, port: env.INTERNAL_PORT, ...env.INTERNAL_TOKEN },
  }))

const serviceAddresses = commaSeparated(
  'an address like http://host:port, or dns+http://name:port for every address of a name',
  isServiceAddress,
)
const LOOK_UP_EVERY = 'must be a number of milliseconds from 100 to 60000'

const lookUpConfig = z
  .object({
    ADDRESS_LOOKUP_MS: z.coerce
      .number(LOOK_UP_EVERY)
      .int(LOOK_UP_EVERY)
      .min(100, LOOK_UP_EVERY)
      .max(60_000, LOOK_UP_EVERY)
      .default(5_000),
  })
  .transform((env) => ({ lookUpEveryMs: env.ADDRESS_LOOKUP_MS }))

/** `services`: the internal addresses of these services' processes, from variables such as `METERING_URLS`. */
export function addressesConfig<Name extends ServiceName>(...names: readonly Name[]) {
  const variables = names.map((name) => [name, addressesVariable(name)] as const)
  return z
    .object(Object.fromEntries(variables.map(([, variable]) => [variable, serviceAddresses])))
    .transform((env) => ({ entries: variables.map(([name, variable]) => [name, env[variable] ?? []] as const) }))
    .and(lookUpConfig)
    .transform(({ entries, lookUpEveryMs }) => ({
      services: Object.fromEntries(
        entries.map(([name, own]) => [name, createAddresses(own, { lookUpEveryMs })]),
      ) as Readonly<Record<Name, Addresses>>,
    }))
}

/** `logLevel`: default `info`. */
export const logConfig = z
  .object({
    LOG_LEVEL: z
      .enum(
        ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
        'must be debug, info, warn, error or silent',
      )
      .default('info'),
  })
  .transform((env) => ({ logLevel: env.LOG_LEVEL }))

/** Defaults of docker-compose.yml for passwords and tokens, and for NEXTVISIT_SECRET_KEY, which must be hex. */
const PUBLISHED_SECRETS = [
  'only-for-this-machine',
  '6f6e6c792d666f722d746869732d6d616368696e652d6e6f742d70726f642121',
] as const

/** Returns true for a setting that is a published secret or, like an address, contains one. Hex has either case. */
function holdsPublishedSecret(setting: unknown): boolean {
  return typeof setting === 'string' && PUBLISHED_SECRETS.some((secret) => setting.toLowerCase().includes(secret))
}

/** `mode`: in production a service does not start with unsafe cluster settings or with published secrets. */
export const modeConfig = z
  .looseObject({ NEXTVISIT_MODE: z.enum(['production', 'local'], 'must be production or local').default('local') })
  .transform(({ NEXTVISIT_MODE: mode, ...env }, context) => {
    if (mode === 'local') return { mode }
    for (const [name, value] of Object.entries(env)) {
      if (!holdsPublishedSecret(value)) continue
      context.addIssue({ code: 'custom', path: [name], message: 'holds a published secret; choose another' })
    }
    return { mode }
  })
