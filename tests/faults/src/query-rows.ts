import type { ConsumerName } from '@nextvisit/services'
import { Client } from 'pg'
import type { CampaignStack } from './campaign-stack.ts'

/** Connects to a consumer's schema with its role. The caller ends the connection. */
export async function connectTo({ schemas }: CampaignStack, consumer: ConsumerName): Promise<Client> {
  const own = schemas.get(consumer)
  const client = new Client({ connectionString: own?.url ?? '', connectionTimeoutMillis: 10_000 })
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
  const client = await connectTo(stack, consumer)
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end().catch(() => {})
  }
}
