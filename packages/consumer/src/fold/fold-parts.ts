import type { CatalogView } from '@nextvisit/catalog'
import type { CommitDb } from '@nextvisit/database'
import type { Logger } from '@nextvisit/log'
import type { AnyFact, FoldContext, FoldMode, Projection, Recorded } from '../core/projection.ts'
import type { PartitionBatch } from './partition-batch.ts'
import type { PastLog } from './past-log.ts'
import type { UserKeys } from './user-keys.ts'

/** The parts of a process that the fold of a projection uses. */
export interface FoldParts<Fact extends AnyFact, Draft> {
  readonly projection: Projection<Fact, Draft>
  readonly db: CommitDb
  readonly catalog: CatalogView
  /** Stored with dead letters. */
  readonly serviceVersion: string
  /** Default: `live`. */
  readonly mode?: FoldMode
  /** Absent: the projection opens no records. */
  readonly userKeys?: UserKeys | undefined
  /** Absent: ticks read no records a second time. */
  readonly pastLog?: PastLog | undefined
  /** Default: logs nothing. */
  readonly logger?: Logger
  /** Called after each commit of batches. `recorded`: every decoded record, duplicates included. */
  readonly onCommitted?: (commit: {
    readonly batches: readonly PartitionBatch[]
    /** When the commit began to be prepared: a `performance.now()` instant. */
    readonly beganAt: number
    readonly recorded: readonly Recorded<Fact>[]
    readonly duplicates: number
    /** The number of records that were folded without effect: see {@link Recorded.isErased}. */
    readonly erased: number
    readonly outboxRows: number
  }) => void
}

/** Returns the part of the context that `load`, `evolve` and `tick` may depend on. */
export function contextOf({ catalog, mode = 'live' }: Pick<FoldParts<never, never>, 'catalog' | 'mode'>): FoldContext {
  return { catalog, mode }
}
