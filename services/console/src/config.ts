import {
  databaseAddress,
  internalServerConfig,
  kafkaConfig,
  logConfig,
  modeConfig,
  port,
  readConfig,
  serviceAddresses,
  token,
} from '@nextvisit/service-kit'
import { z } from 'zod'

const WEB_ADDRESS = 'must be an address like https://ops.example.com/nextvisit'

const consoleConfig = z
  .object({
    // Published by whoever runs it: a container sets 0.0.0.0.
    CONSOLE_HOST: z.string().default('127.0.0.1'),
    CONSOLE_PORT: port.default(8_081),
    /** Who signs in with it is an operator. */
    CONSOLE_TOKEN: token,
    /** Who signs in with it is a viewer. Absent: there are none. */
    CONSOLE_VIEWER_TOKEN: token.optional(),
    /** The address that browsers use, with the path prefix, where a proxy stands in front of the console. */
    CONSOLE_PUBLIC_URL: z.url({ protocol: /^https?$/, error: WEB_ADDRESS }).optional(),
    /** A file with the demo's keys (`nextvisit demo` writes it), for *Try it*. Absent: there is none. */
    CONSOLE_DEMO_KEYS_FILE: z.string().optional(),
    /** The gateway's public address, for *Try it*. */
    CONSOLE_GATEWAY_URL: z.url({ protocol: /^https?$/, error: 'must be an address like http://host:8080' }).optional(),
    /** The path of the CLI's `main.ts`, which this process starts for replays and simulations. Absent: nobody starts them here. */
    CONSOLE_CLI: z.string().optional(),
    /** The database, of a role that may create schemas: for replays only. Absent: nobody starts them here. */
    CONSOLE_OPERATOR_DATABASE_URL: databaseAddress.optional(),
    /** The internal addresses of the gateways: their metrics. */
    GATEWAY_INTERNAL_URLS: serviceAddresses,
    USER_PROJECTOR_URLS: serviceAddresses,
    TRAIT_REGISTRY_URLS: serviceAddresses,
    METERING_URLS: serviceAddresses,
    FORM_TRIGGER_EVALUATOR_URLS: serviceAddresses,
  })
  .refine((env) => env.CONSOLE_TOKEN !== env.CONSOLE_VIEWER_TOKEN, {
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
    services: {
      gateway: env.GATEWAY_INTERNAL_URLS,
      'user-projector': env.USER_PROJECTOR_URLS,
      'trait-registry': env.TRAIT_REGISTRY_URLS,
      metering: env.METERING_URLS,
      'form-trigger-evaluator': env.FORM_TRIGGER_EVALUATOR_URLS,
    },
  }))

/** How to reach the log, and whom to trust: what a command gets of this process' environment. */
const HANDED_TO_COMMANDS = [
  'KAFKA_BROKERS',
  'KAFKA_TLS',
  'KAFKA_SASL_MECHANISM',
  'KAFKA_SASL_USERNAME',
  'KAFKA_SASL_PASSWORD',
  'KAFKA_PARTITIONS',
  'NODE_EXTRA_CA_CERTS',
]

const commandConfig = z.record(z.string(), z.string()).transform((env) => ({
  commandEnvironment: Object.fromEntries(Object.entries(env).filter(([name]) => HANDED_TO_COMMANDS.includes(name))),
}))

const schema = consoleConfig
  .and(commandConfig)
  .and(kafkaConfig)
  .and(internalServerConfig)
  .and(logConfig)
  .and(modeConfig)
export type ConsoleConfig = z.infer<typeof schema>

/** Throws ConfigError, which lists every variable that is wrong. */
export function readConsoleConfig(): ConsoleConfig {
  return readConfig(schema, process.env)
}
