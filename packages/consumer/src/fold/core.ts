import type { RecordCodec } from '@nextvisit/contracts'
import type { CommitDb } from '@nextvisit/database'
import type { Logger } from '@nextvisit/log'
import type { AnyFact, FoldContext, Projection, Recorded } from '../projection.ts'

/** The parts of a process that every commit of a projection uses. */
export interface Core<Fact extends AnyFact, Draft> {
  readonly projection: Projection<Fact, Draft>
  readonly db: CommitDb
  readonly codec: RecordCodec
  readonly context: FoldContext
  /** Stored with dead letters. */
  readonly serviceVersion: string
  readonly logger: Logger
  /** Called after each commit of batches. */
  readonly onCommitted?: (commit: Committed<Fact>) => void
}

/** The contents of one commit. */
export interface Committed<Fact> {
  /** Every decoded record, duplicates included. */
  readonly recorded: readonly Recorded<Fact>[]
  readonly duplicates: number
  readonly outboxRows: number
}
