import type { Consumer } from '@nextvisit/consumer'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import type { Client } from 'pg'
import { inConsumerDatabase } from '../environment/consumer-database.ts'
import { askPart, type PartAnswer } from './ask-part.ts'

/** Numbers of keys in Postgres by the id of the secret key that encrypts them. null: not known, a database does not answer. */
export interface StoredKeys {
  /** Data keys of users. Each consumer that opens records has all of them; if one has more, these count. */
  readonly dataKeys: ReadonlyMap<string, number> | null
  /** The keys of the installation: one signs receipts, and one hashes suppressed users. */
  readonly installationKeys: ReadonlyMap<string, number> | null
}

/** The id is the text before the dot. */
const DATA_KEYS = `SELECT split_part(wrapped, '.', 1) AS "keyId", count(*)::int AS count FROM user_keys GROUP BY 1`
const INSTALLATION_KEYS = `
  SELECT split_part(sealed, '.', 1) AS "keyId", count(*)::int AS count
  FROM installation_keys, unnest(ARRAY[receipt_secret, suppression_key]) AS sealed GROUP BY 1`

/** Counts the keys in the databases of the consumers. Never rejects because of an unavailable database. */
export async function readStoredKeys(env: EnvironmentVariables): Promise<StoredKeys> {
  const count = (consumer: Consumer, query: string) =>
    askPart(() => inConsumerDatabase(env, consumer, async (client) => ({ keys: await countKeys(client, query) })))
  const [ofUsers, ofInstallation] = await Promise.all([
    Promise.all(consumers.filter(({ opensRecords }) => opensRecords).map((consumer) => count(consumer, DATA_KEYS))),
    Promise.all(
      consumers.filter(({ name }) => name === 'user-eraser').map((consumer) => count(consumer, INSTALLATION_KEYS)),
    ),
  ])
  return { dataKeys: largest(ofUsers), installationKeys: largest(ofInstallation) }
}

async function countKeys(client: Client, query: string): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query<{ keyId: string; count: number }>(query)
  return new Map(rows.map(({ keyId, count }) => [keyId, count]))
}

function largest(answers: readonly PartAnswer<{ keys: ReadonlyMap<string, number> }>[]) {
  const counts = new Map<string, number>()
  for (const answer of answers) {
    if (answer.status === 'away') return null
    for (const [keyId, count] of answer.keys) counts.set(keyId, Math.max(count, counts.get(keyId) ?? 0))
  }
  return counts
}
