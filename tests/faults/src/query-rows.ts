import type { ConsumerName } from '@nextvisit/services'
import { Client } from 'pg'
import type { CampaignStack } from './campaign-stack.ts'

const CONNECT_WITHIN_MS = 10_000

/** Connects to a consumer's schema with its role. The caller ends the connection. */
export async function connectTo({ schemas }: CampaignStack, consumer: ConsumerName): Promise<Client> {
  const own = schemas.get(consumer)
  const client = new Client({ connectionString: own?.url ?? '', connectionTimeoutMillis: CONNECT_WITHIN_MS })
  client.on('error', () => {})
  await client.connect()
  await client.query(`SET search_path TO ${client.escapeIdentifier(own?.schema ?? '')}`)
  return client
}

/** Runs one statement in a consumer's schema, on a new connection. */
export async function queryRows<Row extends object>(
  stack: CampaignStack,
  consumer: ConsumerName,
  sql: string,
): Promise<Row[]> {
  return queryOn(await connectTo(stack, consumer), sql)
}

/** Runs one statement as superuser, on a new connection. It can read the schemas of all consumers. */
export async function queryAsAdmin<Row extends object>(
  { adminDatabaseUrl }: CampaignStack,
  sql: string,
): Promise<Row[]> {
  const client = new Client({ connectionString: adminDatabaseUrl, connectionTimeoutMillis: CONNECT_WITHIN_MS })
  client.on('error', () => {})
  await client.connect()
  return queryOn(client, sql)
}

async function queryOn<Row extends object>(client: Client, sql: string): Promise<Row[]> {
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end().catch(() => {})
  }
}
