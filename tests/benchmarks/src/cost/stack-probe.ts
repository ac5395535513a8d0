import { setTimeout as sleep } from 'node:timers/promises'
import { TOPICS } from '@nextvisit/contracts'
import { withLogAdmin } from '@nextvisit/log'
import { consumers } from '@nextvisit/services'
import type { ThrowAwayStack } from '@nextvisit/testing/black-box'
import { Client } from 'pg'

/** Queries of a benchmark to a stack's Kafka and Postgres. */
export interface StackProbe {
  /** Resolves to the lag in records of the slowest consumer. */
  readonly lagRecords: () => Promise<number>
  /** Waits until every consumer has folded the whole log. Resolves to the seconds that it took. */
  readonly waitUntilCaughtUp: () => Promise<number>
  /** Resolves to the number of transactions that Postgres has ended since its start. */
  readonly transactions: () => Promise<number>
  readonly close: () => Promise<void>
}

const ASK_EVERY_MS = 100
const CAUGHT_UP_WITHIN_MS = 900_000
/** Time in ms within which a busy backend reports its transactions. */
const REPORTED_WITHIN_MS = 1_100
const ENDED = 'SELECT xact_commit + xact_rollback AS ended FROM pg_stat_database WHERE datname = current_database()'

/** All but the eraser, whose topic no load writes to. */
const FOLDING = consumers.filter(({ name }) => name !== 'user-eraser')

/** Opens a probe of these consumers. */
export async function openStackProbe(
  { brokers, databaseUrls }: ThrowAwayStack,
  ofConsumers: readonly (typeof consumers)[number][] = FOLDING,
): Promise<StackProbe> {
  const clients = ofConsumers.map(
    ({ databaseVariable, schema }) =>
      new Client({ connectionString: databaseUrls.get(databaseVariable) ?? '', options: `-c search_path=${schema}` }),
  )
  for (const client of clients) client.on('error', () => {}) // the next query reports the error
  await Promise.all(clients.map((client) => client.connect()))

  const lagRecords = async (): Promise<number> => {
    const ends = await readEnds(brokers)
    return Math.max(...(await Promise.all(clients.map((client) => readLag(client, ends)))))
  }
  return {
    lagRecords,
    waitUntilCaughtUp: async () => {
      const beganAt = performance.now()
      while ((await lagRecords()) > 0) {
        if (performance.now() - beganAt > CAUGHT_UP_WITHIN_MS) throw new Error('The consumers did not catch up.')
        await sleep(ASK_EVERY_MS)
      }
      return (performance.now() - beganAt) / 1_000
    },
    transactions: async () => {
      await sleep(REPORTED_WITHIN_MS)
      const answer = await clients[0]?.query<{ ended: string }>(ENDED)
      return Number(answer?.rows[0]?.ended)
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.end()))
    },
  }
}

/** Reads the log's ends, by `topic/partition`. */
function readEnds(brokers: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
  return withLogAdmin({ brokers, clientId: 'benchmark' }, async (log) => {
    const topics = [TOPICS.userEvents, TOPICS.formEvents]
    const ends = topics.map(async (topic) =>
      [...(await log.watermarks(topic))].map(([partition, { high }]) => [`${topic}/${partition}`, high] as const),
    )
    return new Map((await Promise.all(ends)).flat())
  })
}

async function readLag(client: Client, ends: ReadonlyMap<string, bigint>): Promise<number> {
  const { rows } = await client.query<{ name: string; next: string }>(
    `SELECT topic || '/' || partition AS name, next_offset AS next FROM checkpoints`,
  )
  return rows.reduce((sum, { name, next }) => sum + Number((ends.get(name) ?? 0n) - BigInt(next)), 0)
}
