import { type Db, sql } from '@nextvisit/database'
import type { Logger, Publisher, PublishOutcome, RecordToPublish } from '@nextvisit/log'
import type { OutboxRow } from './outbox.ts'

/** Few enough for one request of the publisher, so that all or none are published: of two requests the first may fail. */
const ROWS_PER_REQUEST = 100
const BYTES_PER_REQUEST = 500_000
const PUBLISH_WITHIN_MS = 5_000

export interface OutboxDrainOptions {
  readonly db: Db
  readonly publisher: Publisher
  readonly logger: Logger
  /** The partitions that this process owns now: no other process drains their rows. */
  readonly owned: () => readonly number[]
  /** The partition of a topic that a key belongs to. */
  readonly partitionOf: (topic: string, key: string) => Promise<number>
}

/** Publishes what commits put into the outbox. */
export interface OutboxDrain {
  /**
   * Drains the rows that are there now. Ends early where the publisher or Postgres fails: a later call continues. Never
   * rejects. One drain at a time: calls that come meanwhile share the next one.
   */
  readonly drain: () => Promise<void>
  /** Resolves once all requested drains have ended. */
  readonly finished: () => Promise<void>
}

export function createOutboxDrain({ db, publisher, logger, owned, partitionOf }: OutboxDrainOptions): OutboxDrain {
  let underWay: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined

  /** One partition after the other: two at once could share a request of the publisher and lose their order. */
  const drainOwned = async (): Promise<void> => {
    for (const partition of await findUndrained(db, owned())) await drainPartition(partition)
  }

  /**
   * Publishes a partition's rows in sequence order and deletes those that are in the log: at least once, with stable ids by
   * which duplicates are dropped. Ends at the first row that was not published. The next drain begins there.
   */
  const drainPartition = async (partition: number): Promise<void> => {
    for (;;) {
      const rows = await readRows(db, partition)
      const outcomes = await publishInOrder(await Promise.all(rows.map(asRecord)))
      const failed = outcomes.findIndex(({ outcome }) => outcome !== 'published')
      await deleteRows(db, failed === -1 ? rows : rows.slice(0, failed))
      if (failed !== -1) logger.warn({ partition, outcome: outcomes[failed]?.outcome }, 'The outbox waits for the log')
      if (failed !== -1 || !mayLeaveOthers(rows)) return
    }
  }

  /** The publisher may refuse one record and accept the next one, which is smaller: nothing behind a refused one is published. */
  const publishInOrder = async (records: readonly RecordToPublish[]): Promise<readonly PublishOutcome[]> => {
    const deadlineAt = performance.now() + PUBLISH_WITHIN_MS
    const outcomes: Promise<PublishOutcome>[] = []
    for (const record of records) {
      const outcome = publisher.publish(record, deadlineAt)
      outcomes.push(outcome)
      // A refusal is there at once. Others wait for the request, which all records of this turn of the event loop join.
      const refusal = await Promise.race([outcome, Promise.resolve(undefined)])
      if (refusal && refusal.outcome !== 'published') break
    }
    return Promise.all(outcomes)
  }

  const asRecord = async ({ topic, key, value, headers }: OutboxRow): Promise<RecordToPublish> => {
    return { topic, key, value, headers, partition: await partitionOf(topic, key) }
  }

  const drain: OutboxDrain['drain'] = () => {
    next ??= underWay.then(() => {
      next = undefined
      underWay = drainOwned().catch((err: unknown) => logger.warn({ err }, 'The outbox waits'))
      return underWay
    })
    return next
  }

  return { drain, finished: () => next ?? underWay }
}

type StoredRow = OutboxRow & { readonly sequence: bigint }

/** Partitions, of those given, that have something to publish. */
async function findUndrained(db: Db, partitions: readonly number[]): Promise<number[]> {
  const rows = await db.$queryRaw<{ partition: number }[]>(sql`
    SELECT partition FROM unnest(${partitions}::int[]) AS owned (partition)
    WHERE EXISTS (SELECT FROM outbox WHERE outbox.partition = owned.partition)`)
  return rows.map((row) => row.partition)
}

function readRows(db: Db, partition: number): Promise<StoredRow[]> {
  return db.$queryRaw<StoredRow[]>(sql`
    SELECT sequence, topic, key, value, headers FROM (
      SELECT *, sum(octet_length(value)) OVER (ORDER BY sequence) - octet_length(value) AS bytes_before FROM (
        SELECT * FROM outbox WHERE partition = ${partition} ORDER BY sequence LIMIT ${ROWS_PER_REQUEST}
      ) AS first_rows
    ) AS sized
    WHERE bytes_before < ${BYTES_PER_REQUEST} ORDER BY sequence`)
}

/** Whether the limits of a request may have left rows behind. Those that come later have a drain of their own. */
function mayLeaveOthers(rows: readonly StoredRow[]): boolean {
  const bytes = rows.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0)
  return rows.length === ROWS_PER_REQUEST || bytes >= BYTES_PER_REQUEST
}

async function deleteRows(db: Db, rows: readonly StoredRow[]): Promise<void> {
  if (rows.length === 0) return
  await db.$executeRaw(sql`DELETE FROM outbox WHERE sequence = ANY(${rows.map(({ sequence }) => sequence)}::bigint[])`)
}
