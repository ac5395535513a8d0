import { type Db, sql, type Statement } from '@nextvisit/database'
import type { IdempotentRecord, Projection, Recorded } from './projection.ts'
import { idempotentRecords } from './tables.ts'

/** A duplicate is dropped where its predecessor was received less than this before it (decisions.md, Retries). */
const DUPLICATE_WINDOW_MS = 24 * 3_600_000

export interface Deduplicated<Fact> {
  /** The records to fold: all but duplicates. */
  readonly records: readonly Recorded<Fact>[]
  readonly duplicates: readonly Recorded<Fact>[]
  /** What the ledger has to hold from now on. */
  readonly seen: readonly IdempotentRecord[]
}

/** Takes duplicates of idempotent records out of a batch: of records in the ledger, and of records in the batch. */
export async function dropDuplicates<Fact>(
  db: Db,
  idempotencyOf: Projection<Fact, never>['idempotencyOf'],
  records: readonly Recorded<Fact>[],
): Promise<Deduplicated<Fact>> {
  const idempotent = idempotencyOf ? records.flatMap(({ fact }) => idempotencyOf(fact) ?? []) : []
  if (!idempotencyOf || idempotent.length === 0) return { records, duplicates: [], seen: [] }
  const ids = idempotent.map(({ id }) => id)
  const receivedMs = await readLedger(db, ids)
  const seen = new Map<string, IdempotentRecord>()
  const duplicates = new Set<Recorded<Fact>>()
  for (const record of records) {
    const own = idempotencyOf(record.fact)
    if (!own) continue
    const predecessorMs = receivedMs.get(own.id)
    if (predecessorMs !== undefined && isDuplicate(own, predecessorMs)) {
      duplicates.add(record)
      continue
    }
    receivedMs.set(own.id, own.receivedMs)
    seen.set(own.id, own)
  }
  return {
    records: records.filter((record) => !duplicates.has(record)),
    duplicates: [...duplicates],
    seen: [...seen.values()],
  }
}

/** Whether a record is a duplicate of one with the same id that was received at `predecessorMs`. */
export function isDuplicate({ receivedMs }: IdempotentRecord, predecessorMs: number): boolean {
  return predecessorMs === Infinity || receivedMs - predecessorMs < DUPLICATE_WINDOW_MS
}

async function readLedger(db: Db, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await db.$queryRaw<{ record_id: string; received: Date | null }[]>(sql`
    SELECT record_id, CASE WHEN isfinite(received) THEN received END AS received
    FROM idempotent_records WHERE record_id = ANY(${ids}::uuid[])`)
  return new Map(rows.map((row) => [row.record_id, row.received?.getTime() ?? Infinity]))
}

export function insertIdempotentRecords(partition: number, seen: readonly IdempotentRecord[]): Statement[] {
  const rows = seen.map(({ id, receivedMs }) => ({ recordId: id, partition, received: instantOf(receivedMs) }))
  return idempotentRecords.upsert(rows)
}

/**
 * Deletes the partition's records that no duplicate can match any more. They are kept for twice the window, for gateways
 * whose clocks differ.
 */
export function pruneIdempotentRecords(partition: number, seen: readonly IdempotentRecord[]): Statement[] {
  const earliestMs = Math.min(...seen.map(({ receivedMs }) => receivedMs))
  if (earliestMs === Infinity) return []
  const before = instantOf(earliestMs - 2 * DUPLICATE_WINDOW_MS)
  return [sql`DELETE FROM idempotent_records WHERE partition = ${partition} AND received < ${before}::timestamptz`]
}

function instantOf(receivedMs: number): string {
  return receivedMs === Infinity ? 'infinity' : new Date(receivedMs).toISOString()
}
