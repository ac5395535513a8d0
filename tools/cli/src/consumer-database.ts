import { type ServiceDatabase, serviceDatabases } from '@nextvisit/database'
import type { Environment } from '@nextvisit/service-kit'
import { Client } from 'pg'
import { CliError, EXIT } from './errors.ts'

const CONNECT_WITHIN_MS = 3_000
const ANSWER_WITHIN_MS = 5_000

/** The consumer by this name. Throws which there are. */
export function consumerNamed(service: string): ServiceDatabase {
  const found = serviceDatabases.find((database) => database.service === service)
  if (found) return found
  const names = serviceDatabases.map((database) => database.service)
  throw new CliError(`There is no consumer service ${service}; it is one of ${names.join(', ')}.`, EXIT.usage)
}

/**
 * Runs `work` in a consumer's schema, as the service's own role: commands may do there what the service itself may.
 * Throws a {@link CliError} that says what to do where the database does not answer.
 */
export async function inConsumerDatabase<Answer>(
  env: Environment,
  database: ServiceDatabase,
  work: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  const { schema } = database
  const url = consumerUrl(env, database)
  const client = consumerClient(url)
  try {
    await connect(client, schema)
    return await work(client)
  } catch (error) {
    throw error instanceof Error && !(error instanceof CliError) ? explained(error, url, schema) : error
  } finally {
    await client.end().catch(() => {})
  }
}

/** Where the consumer's database is. Throws what to set where the environment does not say. */
export function consumerUrl(env: Environment, { environmentVariable }: ServiceDatabase): string {
  const url = env[environmentVariable] ?? env['DATABASE_URL']
  if (url !== undefined) return url
  throw new CliError(`${environmentVariable} is not set, nor is DATABASE_URL.`, EXIT.usage)
}

/** Throws what to set where the environment says of no consumer where its database is. */
export function requireSomeConsumer(env: Environment): void {
  const names = ['DATABASE_URL', ...serviceDatabases.map(({ environmentVariable }) => environmentVariable)]
  if (names.some((name) => env[name] !== undefined)) return
  throw new CliError(
    "DATABASE_URL is not set and no local stack runs here. Set it, or a consumer's own such as METERING_DATABASE_URL, " +
      'or start a stack with npx -y pnpm start.',
    EXIT.usage,
  )
}

/** For who asks again and again: the caller's to end. */
export async function connectConsumer(url: string, schema: string): Promise<Client> {
  const client = consumerClient(url)
  try {
    await connect(client, schema)
    return client
  } catch (error) {
    await client.end().catch(() => {})
    throw error instanceof Error ? explained(error, url, schema) : error
  }
}

function consumerClient(connectionString: string): Client {
  const client = new Client({
    connectionString,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    query_timeout: ANSWER_WITHIN_MS,
    application_name: 'nextvisit cli',
  })
  client.on('error', () => {})
  return client
}

async function connect(client: Client, schema: string): Promise<void> {
  await client.connect()
  await client.query(`SET search_path TO ${client.escapeIdentifier(schema)}`)
}

/** Tables or columns that are not there. */
const NOT_PREPARED = ['42P01', '42703', '3F000']

/** What is wrong and what to do, without the address's password. */
function explained(cause: Error, url: string, schema: string): CliError {
  const code = 'code' in cause ? String(cause.code) : cause.message
  if (NOT_PREPARED.includes(code)) {
    return new CliError(`schema ${schema} is not prepared: run nextvisit migrate`, EXIT.failed, { cause })
  }
  const where = URL.canParse(url) ? ` at ${new URL(url).host}` : ''
  return new CliError(
    `Postgres does not answer${where} (${code}): see that it is up and that the address is right`,
    EXIT.failed,
    { cause },
  )
}
