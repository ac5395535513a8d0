import { Client } from 'pg'
import type { CampaignStack, Consumer } from './campaign-stack.ts'

/** Runs one statement in a consumer's schema, with its role and on a new connection. */
export async function queryRows<Row extends object>(
  { readModels }: CampaignStack,
  consumer: Consumer,
  sql: string,
): Promise<Row[]> {
  const model = readModels.get(consumer)
  const client = new Client({ connectionString: model?.url ?? '', connectionTimeoutMillis: 10_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(`SET search_path TO ${client.escapeIdentifier(model?.schema ?? '')}`)
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end().catch(() => {})
  }
}
