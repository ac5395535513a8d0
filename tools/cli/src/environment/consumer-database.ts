import type { Consumer } from '@nextvisit/consumer'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import { Client } from 'pg'
import { notSet } from './config.ts'
import { CliError, EXIT } from '../errors.ts'

const CONNECT_WITHIN_MS = 3_000
const ANSWER_WITHIN_MS = 5_000

/** Names of all consumers for help texts. */
export const CONSUMER_NAMES = consumers.map(({ name }) => name).join(', ')

/** Returns the consumer with this name. Throws a {@link CliError} that lists the names. */
export function consumerNamed(name: string): Consumer {
  const found = consumers.find((consumer) => consumer.name === name)
  if (found) return found
  throw new CliError(`There is no consumer service ${name}. Known: ${CONSUMER_NAMES}.`, EXIT.usage)
}

/** A consumer's schema, accessed with the consumer's own role and privileges. */
export interface ConsumerDatabase {
  /**
   * Runs `work` on a connection that opens at the first use and reopens after a failure. Throws a {@link CliError} with
   * the remedy if the database does not answer.
   */
  readonly run: <Answer>(work: (client: Client) => Promise<Answer>) => Promise<Answer>
  readonly close: () => Promise<void>
}

/** Opens a consumer's database. Throws a {@link CliError} that names the missing variable. */
export function openConsumerDatabase(env: EnvironmentVariables, consumer: Consumer): ConsumerDatabase {
  const url = consumerUrl(env, consumer)
  let connected: Promise<Client> | undefined

  const close = async (): Promise<void> => {
    const current = connected
    connected = undefined
    await current?.then((client) => client.end()).catch(() => {})
  }

  return {
    run: async (work) => {
      try {
        connected ??= connect(url, consumer.schema)
        return await work(await connected)
      } catch (error) {
        await close()
        throw error instanceof Error && !(error instanceof CliError) ? explained(error, url, consumer.schema) : error
      }
    },
    close,
  }
}

/** Runs `work` on a connection of its own. Throws like {@link ConsumerDatabase.run} and {@link openConsumerDatabase}. */
export async function inConsumerDatabase<Answer>(
  env: EnvironmentVariables,
  consumer: Consumer,
  work: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  const database = openConsumerDatabase(env, consumer)
  try {
    return await database.run(work)
  } finally {
    await database.close()
  }
}

/** Returns the address of the consumer's database. Throws a {@link CliError} that names the missing variable. */
export function consumerUrl(env: EnvironmentVariables, { databaseVariable }: Consumer): string {
  const url = env[databaseVariable] ?? env['DATABASE_URL']
  if (url !== undefined) return url
  throw new CliError(`${notSet(databaseVariable, env)} DATABASE_URL works, too.`, EXIT.usage)
}

/** Throws a {@link CliError} if the environment names no consumer's database. */
export function requireSomeConsumer(env: EnvironmentVariables): void {
  const names = ['DATABASE_URL', ...consumers.map(({ databaseVariable }) => databaseVariable)]
  if (names.some((name) => env[name] !== undefined)) return
  throw new CliError(
    `${notSet('DATABASE_URL', env)} Set it, or a consumer's own variable such as METERING_DATABASE_URL, ` +
      'or start a local stack with npx -y pnpm start.',
    EXIT.usage,
  )
}

async function connect(connectionString: string, schema: string): Promise<Client> {
  const client = new Client({
    connectionString,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    query_timeout: ANSWER_WITHIN_MS,
    application_name: 'nextvisit cli',
  })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(`SET search_path TO ${client.escapeIdentifier(schema)}`)
    return client
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
}

/** SQLSTATEs of missing tables, columns and schemas. */
const NOT_PREPARED = ['42P01', '42703', '3F000']

/** Explains a failure and its remedy, without the password in the address. */
function explained(cause: Error, url: string, schema: string): CliError {
  const code = 'code' in cause ? String(cause.code) : cause.message
  if (NOT_PREPARED.includes(code)) {
    return new CliError(`schema ${schema} is not prepared: run nextvisit migrate`, EXIT.failed, { cause })
  }
  const where = URL.canParse(url) ? ` at ${new URL(url).host}` : ''
  return new CliError(
    `Postgres does not answer${where} (${code}): check that it runs and that the address is correct`,
    EXIT.failed,
    { cause },
  )
}
