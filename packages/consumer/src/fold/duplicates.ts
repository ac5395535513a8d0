import { DUPLICATE_WINDOW_MS } from '@nextvisit/contracts'
import { type Db, raw, sql, type Sql } from '@nextvisit/database'
import type { AnyFact, IdempotentRecord, Projection, Recorded } from '../core/projection.ts'
import { idempotentRecords } from '../core/tables.ts'

/** An idempotent record that was folded: a row of the ledger. */
interface SeenRecord extends IdempotentRecord {
  readonly partition: number
}

/**
 * Separates duplicates of idempotent records, if the first is in the ledger or among the given records. Returns the records
 * to fold, the duplicates, and the rows that the ledger gets.
 */
export async function dropDuplicates<Fact extends AnyFact>(
  db: Db,
  idempotencyOf: Projection<Fact, never>['idempotencyOf'],
  records: readonly Recorded<Fact>[],
) {
  const idempotent = idempotencyOf ? records.flatMap(({ fact }) => idempotencyOf(fact) ?? []) : []
  if (!idempotencyOf || idempotent.length === 0) return { records, duplicates: [], seen: [] }
  const ids = idempotent.map(({ id }) => id)
  const receivedMs = await readLedger(db, ids)
  const seen = new Map<string, SeenRecord>()
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
    seen.set(own.id, { ...own, partition: record.partition })
  }
  return {
    records: records.filter((record) => !duplicates.has(record)),
    duplicates: [...duplicates],
    seen: [...seen.values()],
  }
}

/**
 * Returns true if a record is a duplicate of one with the same id that was received at `predecessorMs`. A record that is remembered
 * forever is a duplicate of any known one.
 */
export function isDuplicate({ receivedMs }: IdempotentRecord, predecessorMs: number): boolean {
  return receivedMs === Infinity || receivedMs - predecessorMs < DUPLICATE_WINDOW_MS
}

/** Reads when idempotent records were received, by id: ms since the epoch. */
export async function readLedger(db: Db, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await db.$queryRaw<{ record_id: string; received: Date | null }[]>(sql`
    SELECT record_id, CASE WHEN isfinite(received) THEN received END AS received
    FROM idempotent_records WHERE record_id = ANY(${ids}::uuid[])`)
  return new Map(rows.map((row) => [row.record_id, row.received?.getTime() ?? Infinity]))
}

/** Writes records into the ledger, and deletes rows of their partitions that are too old to be of use. */
export function rememberRecords(seen: readonly SeenRecord[]): Sql[] {
  const rows = seen.map(({ id, partition, receivedMs }) => ({
    recordId: id,
    partition,
    received: instantOf(receivedMs),
  }))
  return [...idempotentRecords.upsert(rows), ...pruneOldRecords('idempotent_records', seen)]
}

/** Rows that a commit deletes for each row that it adds to a partition. The ledger therefore shrinks. */
const PRUNED_FOR_EACH = 2
const PRUNED_AT_LEAST = 100

/**
 * Deletes rows of these partitions that no duplicate can match any more, the oldest first. Rows are kept for twice the window,
 * for gateways whose clocks differ. After a quiet time the rows of a whole day are too old. One commit deletes only a part
 * of them, so that it ends in time. `table` has the columns `record_id`, `partition` and `received`.
 */
export function pruneOldRecords(
  table: string,
  seen: readonly { readonly partition: number; readonly receivedMs: number }[],
): Sql[] {
  const earliest = new Map<number, { receivedMs: number; rows: number }>()
  for (const { partition, receivedMs } of seen) {
    const one = earliest.get(partition) ?? { receivedMs, rows: 0 }
    earliest.set(partition, { receivedMs: Math.min(one.receivedMs, receivedMs), rows: one.rows + 1 })
  }
  const pruned = Array.from(earliest, ([partition, { receivedMs, rows }]) => ({
    partition,
    before: instantOf(receivedMs - 2 * DUPLICATE_WINDOW_MS),
    limit: Math.max(PRUNED_AT_LEAST, PRUNED_FOR_EACH * rows),
  })).filter(({ before }) => before !== 'infinity')
  if (pruned.length === 0) return []
  const column = <Name extends keyof (typeof pruned)[number]>(name: Name) => pruned.map((one) => one[name])
  return [
    sql`DELETE FROM ${raw(table)} WHERE record_id IN (
      SELECT old.record_id
      FROM unnest(${column('partition')}::int[], ${column('before')}::timestamptz[], ${column('limit')}::int[])
        AS pruned (partition, before, rows),
      LATERAL (
        SELECT record_id FROM ${raw(table)} AS kept
        WHERE kept.partition = pruned.partition AND kept.received < pruned.before AND kept.received < 'infinity'
        ORDER BY kept.received LIMIT pruned.rows) AS old)`,
  ]
}

function instantOf(receivedMs: number): string {
  return receivedMs === Infinity ? 'infinity' : new Date(receivedMs).toISOString()
}
