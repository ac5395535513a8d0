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
    if (predecessorMs !== undefined && key.receivedMs - predecessorMs < COPY_WINDOW_MS) {
      copies.add(record)
      continue
    }
    receivedMs.set(key.id, key.receivedMs)
    seen.set(key.id, key)
  }
  return { records: records.filter((record) => !copies.has(record)), copies: [...copies], seen: [...seen.values()] }
}

async function readLedger(db: Db, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await db.$queryRaw<{ record_id: string; received: Date }[]>(sql`
    SELECT record_id, received FROM keyed_records WHERE record_id = ANY(${ids}::uuid[])`)
  return new Map(rows.map((row) => [row.record_id, row.received.getTime()]))
}

export function insertKeyedRecords(partition: number, seen: readonly KeyedRecord[]): Statement {
  const sorted = seen.toSorted((one, other) => (one.id < other.id ? -1 : 1))
  return sql`
    INSERT INTO keyed_records (record_id, partition, received)
    SELECT record_id, ${partition}::int, received
    FROM unnest(
      ${sorted.map(({ id }) => id)}::uuid[],
      ${sorted.map(({ receivedMs }) => new Date(receivedMs).toISOString())}::timestamptz[]
    ) AS given (record_id, received)
    ON CONFLICT (record_id) DO UPDATE SET received = excluded.received`
}

/** Nobody asks any more for what is older than the window; kept twice as long, for gateways whose clocks differ. */
export function forgetKeyedRecords(partition: number, seen: readonly KeyedRecord[]): Statement {
  const before = new Date(Math.min(...seen.map(({ receivedMs }) => receivedMs)) - 2 * COPY_WINDOW_MS)
  return sql`DELETE FROM keyed_records WHERE partition = ${partition} AND received < ${before.toISOString()}::timestamptz`
}
