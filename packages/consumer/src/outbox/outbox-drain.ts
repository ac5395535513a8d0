import { type CommitDb, type Db, type Sql, sql } from '@nextvisit/database'
import type { Logger, Publisher, PublishOutcome, RecordToPublish } from '@nextvisit/log'
import type { OutboxRow } from '../core/projection.ts'

/** Few enough for one request of the publisher, so that all or none are published. Of two requests the first may fail. */
const ROWS_PER_REQUEST = 100
const BYTES_PER_REQUEST = 500_000
const PUBLISH_WITHIN_MS = 5_000
const DRAIN_AFTER_MS = 250
const DRAIN_AGAIN_AFTER_MS = 1_000

/** A record of the outbox that the log has acknowledged. */
export interface PublishedRow {
  readonly row: OutboxRow
  /** The place of the record in its topic. A record that was published before, with an unknown outcome, has an earlier place. */
  readonly partition: number
  readonly offset: bigint
}

/** Returns statements for the transaction that deletes published rows from the outbox. */
export type NotePublished = (rows: readonly PublishedRow[]) => readonly Sql[]

interface OutboxDrainOptions {
  readonly db: CommitDb
  readonly publisher: Publisher
  readonly logger: Logger
  /** Returns the partitions that this process owns now. No other process drains their rows. */
  readonly owned: () => readonly number[]
  /** Returns the partition of a topic that a key belongs to. */
  readonly partitionOf: (topic: string, key: string) => Promise<number>
  readonly notePublished?: NotePublished | undefined
  /** Default: 250. */
  readonly drainAfterMs?: number
  /** Pause after each full request, so that folds of other projects' records are not delayed by many rows at once. Default: none. */
  readonly pauseMs?: number | undefined
  /** Aborted when the runner stops: no drain begins any more. */
  readonly signal: AbortSignal
}

/** Publishes the records that commits put into the outbox. */
export function createOutboxDrain(options: OutboxDrainOptions) {
  const { db, publisher, logger, owned, partitionOf, notePublished, signal } = options
  const { drainAfterMs = DRAIN_AFTER_MS, pauseMs = 0 } = options
  let timer: { readonly atMs: number; readonly handle: NodeJS.Timeout } | undefined
  let underWay: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined

  /**
   * Publishes rows in sequence order and deletes those that are in the log: at least once, with stable ids by which readers
   * drop duplicates. Stops at the first unpublished row of a partition. The next drain begins there.
   */
  async function drainOwned(): Promise<void> {
    for (;;) {
      const rows = await readRows(db, owned())
      if (rows.length === 0) return
      const { published, failed } = await publishInOrder(rows)
      if (published.length > 0) await db.executeAll([...(notePublished?.(published) ?? []), deletePublished(published)])
      for (const [partition, outcome] of failed) logger.warn({ partition, outcome }, 'The outbox waits for the log')
      if (failed.size > 0) return drainAfter(DRAIN_AGAIN_AFTER_MS)
      if (!mayLeaveOthers(rows)) return
      if (pauseMs > 0) return drainAfter(pauseMs)
    }
  }

  /** The publisher may refuse a record and accept the next, smaller one. Nothing behind a refused record is published. */
  async function publishInOrder(rows: readonly StoredRow[]) {
    const records = await Promise.all(rows.map(async (row) => [row, await asRecord(row)] as const))
    const deadlineAt = performance.now() + PUBLISH_WITHIN_MS
    const refused = new Set<number>()
    const publishing = new Map<StoredRow, { readonly partition: number; readonly outcome: Promise<PublishOutcome> }>()
    for (const [row, record] of records) {
      if (refused.has(row.partition)) continue
      const outcome = publisher.publish(record, deadlineAt)
      publishing.set(row, { partition: record.partition, outcome })
      // A refusal comes at once. Other outcomes wait for the request, which all records of this turn of the event loop join.
      const refusal = await Promise.race([outcome, Promise.resolve(undefined)])
      if (refusal && refusal.outcome !== 'published') refused.add(row.partition)
    }
    const published: (PublishedRow & { readonly row: StoredRow })[] = []
    const failed = new Map<number, PublishOutcome['outcome']>()
    for (const [row, { partition, outcome }] of publishing) {
      const result = await outcome
      if (failed.has(row.partition)) continue
      if (result.outcome === 'published') published.push({ row, partition, offset: result.offset })
      else failed.set(row.partition, result.outcome)
    }
    return { published, failed }
  }

  async function asRecord({ topic, key, value, headers }: OutboxRow): Promise<RecordToPublish> {
    return { topic, key, value, headers, partition: await partitionOf(topic, key) }
  }

  /**
   * Drains the present rows. Ends early if the publisher or Postgres fails, and continues a second later, or for `pauseMs`. Never rejects.
   * Drains do not overlap: calls that come meanwhile share the next one.
   */
  function drain(): Promise<void> {
    if (signal.aborted) return next ?? underWay
    next ??= underWay.then(() => {
      next = undefined
      underWay = drainOwned().catch((err: unknown) => {
        logger.warn({ err }, 'The outbox waits')
        drainAfter(DRAIN_AGAIN_AFTER_MS)
      })
      return underWay
    })
    return next
  }

  function endTimer(): void {
    clearTimeout(timer?.handle)
    timer = undefined
  }

  /** Keeps a drain that is planned for an earlier time. */
  function drainAfter(ms: number): void {
    const atMs = performance.now() + ms
    if (signal.aborted || (timer && timer.atMs <= atMs)) return
    endTimer()
    const begin = (): void => {
      endTimer()
      void drain()
    }
    timer = { atMs, handle: setTimeout(begin, ms) }
  }

  /** Drains after `drainAfterMs`, together with rows that come until then: no caller waits for them. */
  function drainSoon(): void {
    drainAfter(drainAfterMs)
  }

  /** Resolves once all requested drains have ended. Drains that were only planned are left to the next owner. */
  function finished(): Promise<void> {
    endTimer()
    return next ?? underWay
  }

  return { drain, drainSoon, finished }
}

type StoredRow = OutboxRow & { readonly sequence: bigint }

/** Reads the first rows of these partitions, as many of each: refused rows of one must not block the others. */
function readRows(db: Db, partitions: readonly number[]): Promise<StoredRow[]> {
  return db.$queryRaw<StoredRow[]>(sql`
    SELECT sequence, partition, topic, key, value, headers FROM (
      SELECT *, sum(octet_length(value)) OVER (ORDER BY place, partition) - octet_length(value) AS bytes_before FROM (
        SELECT first_rows.*, row_number() OVER (PARTITION BY first_rows.partition ORDER BY sequence) AS place
        FROM unnest(${partitions}::int[]) AS owned (partition)
        CROSS JOIN LATERAL (
          SELECT * FROM outbox WHERE outbox.partition = owned.partition ORDER BY sequence LIMIT ${ROWS_PER_REQUEST}
        ) AS first_rows
        ORDER BY place, partition LIMIT ${ROWS_PER_REQUEST}
      ) AS placed
    ) AS sized
    WHERE bytes_before < ${BYTES_PER_REQUEST} ORDER BY place, partition`)
}

/** Returns true if the limits of a request may have left rows behind. Later rows have a drain of their own. */
function mayLeaveOthers(rows: readonly StoredRow[]): boolean {
  const bytes = rows.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0)
  return rows.length === ROWS_PER_REQUEST || bytes >= BYTES_PER_REQUEST
}

function deletePublished(published: readonly { readonly row: StoredRow }[]): Sql {
  return sql`DELETE FROM outbox WHERE sequence = ANY(${published.map(({ row }) => row.sequence)}::bigint[])`
}
