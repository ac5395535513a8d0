import { CALLS, type ServiceName } from '@nextvisit/contracts'
import { SECRET_KEY_VARIABLE } from '@nextvisit/sealing'
import {
  addressesConfig,
  databaseAddress,
  internalServerConfig,
  kafkaConfig,
  keyRingConfig,
  logConfig,
  modeConfig,
  port,
  readConfig,
  redisConfig,
  token,
} from '@nextvisit/service-kit'
import { z } from 'zod'
import { openIdConfig } from './openid-config.ts'

const WEB_ADDRESS = 'must be an address like https://ops.example.com/nextvisit'

const consoleConfig = z
  .object({
    // A container sets 0.0.0.0, and publishes the port.
    CONSOLE_HOST: z.string().default('127.0.0.1'),
    CONSOLE_PORT: port.default(8_081),
    /** Token of operators. Absent: people sign in with OpenID Connect only. */
    CONSOLE_TOKEN: token.optional(),
    /** Token of viewers. Absent: none signs in with a token. */
    CONSOLE_VIEWER_TOKEN: token.optional(),
    /** Address for browsers, with the path prefix, if a proxy is in front of the console. */
    CONSOLE_PUBLIC_URL: z.url({ protocol: /^https?$/, error: WEB_ADDRESS }).optional(),
    /** File with the demo's keys, which `nextvisit demo` writes, for *Try it*. Absent: the screen is not offered. */
    CONSOLE_DEMO_KEYS_FILE: z.string().optional(),
    /** Public address of the gateway, for *Try it*. */
    CONSOLE_GATEWAY_URL: z.url({ protocol: /^https?$/, error: 'must be an address like http://host:8080' }).optional(),
    /** Path of the CLI's `main.ts`, which this process starts for replays, simulations and exports. Absent: it starts none. */
    CONSOLE_CLI: z.string().optional(),
    /** Database address with a role that may create schemas, for replays. Absent: this process starts none. */
    CONSOLE_OPERATOR_DATABASE_URL: databaseAddress.optional(),
    /** File that remembers a running replay, which the next process resumes. Absent: a replay ends with this process. */
    CONSOLE_REPLAY_FILE: z.string().optional(),
  })
  .refine((env) => env.CONSOLE_TOKEN === undefined || env.CONSOLE_TOKEN !== env.CONSOLE_VIEWER_TOKEN, {
    path: ['CONSOLE_VIEWER_TOKEN'],
    message: 'must differ from CONSOLE_TOKEN',
  })
  .transform((env) => ({
    host: env.CONSOLE_HOST,
    port: env.CONSOLE_PORT,
    tokens: { operator: env.CONSOLE_TOKEN, viewer: env.CONSOLE_VIEWER_TOKEN },
    publicUrl: env.CONSOLE_PUBLIC_URL,
    demoKeysFile: env.CONSOLE_DEMO_KEYS_FILE,
    gatewayUrl: env.CONSOLE_GATEWAY_URL,
    cliEntry: env.CONSOLE_CLI,
    operatorUrl: env.CONSOLE_OPERATOR_DATABASE_URL,
    replayFile: env.CONSOLE_REPLAY_FILE,
  }))

const SERVICES = Object.keys(CALLS) as ServiceName[]

/** Variables that a command gets from this process' environment: how to reach and open the log, and trusted certificates. */
const HANDED_TO_COMMANDS = [
  'KAFKA_BROKERS',
  'KAFKA_TLS',
  'KAFKA_SASL_MECHANISM',
  'KAFKA_SASL_USERNAME',
  'KAFKA_SASL_PASSWORD',
  'KAFKA_PARTITIONS',
  SECRET_KEY_VARIABLE,
  'NODE_EXTRA_CA_CERTS',
]

const commandConfig = z.record(z.string(), z.string()).transform((env) => ({
  commandEnvironment: Object.fromEntries(Object.entries(env).filter(([name]) => HANDED_TO_COMMANDS.includes(name))),
}))

const schema = consoleConfig
  .and(addressesConfig(...SERVICES))
  .and(commandConfig)
  .and(kafkaConfig)
  .and(keyRingConfig)
  .and(openIdConfig)
  .and(redisConfig)
  .and(internalServerConfig)
  .and(logConfig)
  .and(modeConfig)
export type ConsoleConfig = z.infer<typeof schema>

/** Reads the configuration. Throws ConfigError, which lists every invalid variable. */
export function readConsoleConfig(): ConsoleConfig {
  return readConfig(schema, process.env)
}
