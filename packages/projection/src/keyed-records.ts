import { type Db, sql, type Statement } from '@nextvisit/database'
import type { KeyedRecord, Projection, Recorded } from './projection.ts'

/** A copy is dropped where its predecessor was received less than this before it (decisions.md, Retries). */
const COPY_WINDOW_MS = 24 * 3_600_000

export interface KeyedSelection<Fact> {
  /** The records to fold: all but copies. */
  readonly records: readonly Recorded<Fact>[]
  readonly copies: readonly Recorded<Fact>[]
  /** What the ledger has to learn. */
  readonly seen: readonly KeyedRecord[]
}

/** Takes out second copies of keyed records, by the ledger and within the batch. */
export async function dropCopies<Fact>(
  db: Db,
  keyed: Projection<Fact, never>['keyed'],
  records: readonly Recorded<Fact>[],
): Promise<KeyedSelection<Fact>> {
  const asked = keyed ? records.flatMap(({ fact }) => keyed(fact) ?? []) : []
  if (!keyed || asked.length === 0) return { records, copies: [], seen: [] }
  const receivedMs = await readLedger(
    db,
    asked.map(({ id }) => id),
  )
  const seen = new Map<string, KeyedRecord>()
  const copies = new Set<Recorded<Fact>>()
  for (const record of records) {
    const key = keyed(record.fact)
    if (!key) continue
    const predecessorMs = receivedMs.get(key.id)
    if (predecessorMs !== undefined && isCopy(key, predecessorMs)) {
      copies.add(record)
      continue
    }
    receivedMs.set(key.id, key.receivedMs)
    seen.set(key.id, key)
  }
  return { records: records.filter((record) => !copies.has(record)), copies: [...copies], seen: [...seen.values()] }
}

/** Whether a record is a copy of one with the same id that was received at `predecessorMs`. */
export function isCopy({ receivedMs }: KeyedRecord, predecessorMs: number): boolean {
  return predecessorMs === Infinity || receivedMs - predecessorMs < COPY_WINDOW_MS
}

async function readLedger(db: Db, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await db.$queryRaw<{ record_id: string; received: Date | null }[]>(sql`
    SELECT record_id, CASE WHEN isfinite(received) THEN received END AS received
    FROM idempotent_records WHERE record_id = ANY(${ids}::uuid[])`)
  return new Map(rows.map((row) => [row.record_id, row.received?.getTime() ?? Infinity]))
}

export function insertKeyedRecords(partition: number, seen: readonly KeyedRecord[]): Statement {
  const sorted = seen.toSorted((one, other) => (one.id < other.id ? -1 : 1))
  return sql`
    INSERT INTO idempotent_records (record_id, partition, received)
    SELECT record_id, ${partition}::int, received
    FROM unnest(
      ${sorted.map(({ id }) => id)}::uuid[],
      ${sorted.map(({ receivedMs }) => instantOf(receivedMs))}::timestamptz[]
    ) AS given (record_id, received)
    ON CONFLICT (record_id) DO UPDATE SET received = excluded.received`
}

/**
 * The statements that forget what nobody asks for any more: what is older than the window; kept twice as long, for
 * gateways whose clocks differ.
 */
export function forgetKeyedRecords(partition: number, seen: readonly KeyedRecord[]): Statement[] {
  const earliestMs = Math.min(...seen.map(({ receivedMs }) => receivedMs))
  if (earliestMs === Infinity) return []
  const before = instantOf(earliestMs - 2 * COPY_WINDOW_MS)
  return [sql`DELETE FROM idempotent_records WHERE partition = ${partition} AND received < ${before}::timestamptz`]
}

function instantOf(receivedMs: number): string {
  return receivedMs === Infinity ? 'infinity' : new Date(receivedMs).toISOString()
}
