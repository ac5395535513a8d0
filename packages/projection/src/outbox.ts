import { type Db, sql, type Statement } from '@nextvisit/database'
import type { Publisher, RecordToPublish } from '@nextvisit/log'

/** What must be published, once the commit that decided it stands. */
export interface OutboxRow {
  readonly topic: string
  readonly key: string
  readonly value: string
  readonly headers: Readonly<Record<string, string>>
}

/** Puts rows into the outbox, in this order. Only in a commit: the fence says whose partition they are of. */
export function outboxStatement(rows: readonly OutboxRow[]): Statement {
  return sql`
    INSERT INTO outbox (topic, key, value, headers)
    SELECT topic, key, value, headers FROM unnest(
      ${rows.map(({ topic }) => topic)}::text[],
      ${rows.map(({ key }) => key)}::text[],
      ${rows.map(({ value }) => value)}::text[],
      ${rows.map(({ headers }) => JSON.stringify(headers))}::jsonb[]
    ) WITH ORDINALITY AS given (topic, key, value, headers, place)
    ORDER BY place`
}

/** Few enough for one request of the publisher, so that they are published all or not at all, in order. */
const ROWS_PER_REQUEST = 100
const PUBLISH_WITHIN_MS = 5_000

export interface OutboxDrain {
  readonly db: Db
  readonly publisher: Publisher
  /** The partition of a topic that a key belongs to. */
  readonly partitionOf: (topic: string, key: string) => Promise<number>
}

/** Partitions, of those given, that have something to publish. */
export async function findUndrained(db: Db, partitions: readonly number[]): Promise<number[]> {
  const rows = await db.$queryRaw<{ partition: number }[]>(sql`
    SELECT partition FROM unnest(${partitions}::int[]) AS owned (partition)
    WHERE EXISTS (SELECT FROM outbox WHERE outbox.partition = owned.partition)`)
  return rows.map((row) => row.partition)
}

/**
 * Publishes a partition's rows in sequence order and deletes what is in the log: at least once, with stable ids to drop
 * repeats by. Ends at the first that was not published; the next drain begins there.
 */
export async function drainOutbox({ db, publisher, partitionOf }: OutboxDrain, partition: number): Promise<void> {
  for (;;) {
    const rows = await db.$queryRaw<(OutboxRow & { sequence: bigint })[]>(sql`
      SELECT sequence, topic, key, value, headers FROM outbox
      WHERE partition = ${partition} ORDER BY sequence LIMIT ${ROWS_PER_REQUEST}`)
    if (rows.length === 0) return
    const records: RecordToPublish[] = []
    for (const { topic, key, value, headers } of rows) {
      records.push({ topic, key, value, headers, partition: await partitionOf(topic, key) })
    }
    const deadlineAt = performance.now() + PUBLISH_WITHIN_MS
    const outcomes = await Promise.all(records.map((record) => publisher.publish(record, deadlineAt)))
    const failed = outcomes.findIndex(({ outcome }) => outcome !== 'published')
    const published = failed === -1 ? rows : rows.slice(0, failed)
    await db.$executeRaw(
      sql`DELETE FROM outbox WHERE sequence = ANY(${published.map(({ sequence }) => sequence)}::bigint[])`,
    )
    if (failed !== -1) return
  }
}
