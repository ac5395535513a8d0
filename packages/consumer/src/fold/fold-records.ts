import type { CommitDb, Statement } from '@nextvisit/database'
import { outboxStatements } from '../outbox/outbox.ts'
import type { FoldContext, Projection, Recorded } from '../projection.ts'
import { dropDuplicates, insertIdempotentRecords, pruneOldRecords } from './idempotent-records.ts'

/** What every commit works with. */
export interface FoldScope<Fact, Draft> {
  readonly projection: Projection<Fact, Draft>
  readonly db: CommitDb
  readonly context: FoldContext
  /** Goes into dead letters. */
  readonly serviceVersion: string
}

export interface FoldedRecords<Fact, Draft> {
  /** Undefined where every record was a duplicate. */
  readonly draft: Draft | undefined
  readonly duplicates: readonly Recorded<Fact>[]
  /** The rows to commit. */
  readonly statements: readonly Statement[]
  /** Rows that the commit puts into the outbox. */
  readonly outboxRows: number
}

/** Drops duplicates, then load → evolve* → save. Writes nothing. Records of several partitions may be mixed. */
export async function foldRecords<Fact, Draft>(
  { projection, db, context }: FoldScope<Fact, Draft>,
  recorded: readonly Recorded<Fact>[],
): Promise<FoldedRecords<Fact, Draft>> {
  const { records, duplicates, seen } = await dropDuplicates(db, projection.idempotencyOf, recorded)
  const ledger = [...insertIdempotentRecords(seen), ...pruneOldRecords('idempotent_records', seen)]
  if (records.length === 0) return { draft: undefined, duplicates, statements: ledger, outboxRows: 0 }
  const loaded = projection.load ? await projection.load(db, records, context) : projection.empty()
  const draft = records.reduce((so, record) => projection.evolve(so, record, context), loaded)
  const outbox = projection.publish?.(draft) ?? []
  const statements = [...ledger, ...projection.save(draft), ...outboxStatements(outbox)]
  return { draft, duplicates, statements, outboxRows: outbox.length }
}
