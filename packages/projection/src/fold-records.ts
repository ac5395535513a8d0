import type { Db, Statement } from '@nextvisit/database'
import { dropDuplicates, insertIdempotentRecords, pruneIdempotentRecords } from './idempotent-records.ts'
import type { Position } from './position.ts'
import type { FoldContext, Projection, Recorded } from './projection.ts'

/** What every commit of one partition works with. */
export interface FoldScope<Fact, Draft> {
  readonly projection: Projection<Fact, Draft>
  readonly db: Db
  readonly position: Position
  readonly context: FoldContext
  /** Goes into dead letters. */
  readonly serviceVersion: string
}

export interface FoldedRecords<Fact, Draft> {
  readonly draft: Draft
  /** How many records were folded. */
  readonly records: number
  readonly duplicates: readonly Recorded<Fact>[]
  /** The rows to commit. */
  readonly statements: readonly Statement[]
}

/** Drops duplicates, then load → evolve* → save. Writes nothing. */
export async function foldRecords<Fact, Draft>(
  { projection, db, context }: FoldScope<Fact, Draft>,
  recorded: readonly Recorded<Fact>[],
): Promise<FoldedRecords<Fact, Draft>> {
  const { partition } = context
  const { records, duplicates, seen } = await dropDuplicates(db, projection.idempotencyOf, recorded)
  const ledger = [...insertIdempotentRecords(partition, seen), ...pruneIdempotentRecords(partition, seen)]
  if (records.length === 0) return { draft: projection.empty(), records: 0, duplicates, statements: ledger }
  const loaded = projection.load ? await projection.load(db, records, context) : projection.empty()
  const draft = records.reduce((so, record) => projection.evolve(so, record, context), loaded)
  return { draft, records: records.length, duplicates, statements: [...ledger, ...projection.save(draft)] }
}
