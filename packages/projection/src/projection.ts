import type { CatalogView } from '@nextvisit/catalog'
import type { Db, Statement } from '@nextvisit/database'
import type { ZodType } from 'zod'

/** A fact with where it stands in the log. */
export interface Recorded<Fact> {
  readonly fact: Fact
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  /** The record's time in Kafka, ms since the epoch. */
  readonly timestampMs: number
  /** `ce_id`: of the request that the record came of, or the record's own. */
  readonly id?: string | undefined
  /** Redis channel of a gateway that waits for an answer to this record. */
  readonly replyTo?: string | undefined
  /** The W3C trace that the record belongs to. */
  readonly traceparent?: string | undefined
}

/** What a fold may look at beside its draft and its record. */
export interface FoldContext {
  readonly catalog: CatalogView
  /** A rebuild, or a dead letter that is folded late: it queues, delivers and publishes nothing. */
  readonly isRebuild: boolean
  /** The partition that is being folded. */
  readonly partition: number
}

/** Which partitions may be due. */
export interface DueContext extends Pick<FoldContext, 'catalog'> {
  readonly partitions: readonly number[]
}

/** What a second copy of a record is known by. */
export interface KeyedRecord {
  readonly id: string
  /** `Infinity`: never forgotten, and every copy is dropped. */
  readonly receivedMs: number
}

/**
 * A read model as a fold over the log: load → evolve* → commit → after. Each consumer service is one of these.
 *
 * Read-modify-write only rows whose facts all share a partition; everything else adds
 * (`ON CONFLICT … SET n = t.n + excluded.n`).
 */
export interface Projection<Fact, Draft> {
  /** Names the checkpoint and the consumer group. */
  readonly name: string
  readonly topics: readonly string[]
  /** What does not parse is dead-lettered and never reaches evolve. */
  readonly schema: ZodType<Fact>
  /**
   * For records whose requests had an `Idempotency-Key`: a copy whose predecessor was received less than 24 h before is
   * dropped (decisions.md, Retries).
   */
  readonly keyed?: (fact: Fact) => KeyedRecord | undefined
  readonly empty: () => Draft
  /** The rows these facts touch. Leave out when writes only add. The catalog may move on before `evolve`. */
  readonly load?: (db: Db, batch: readonly Recorded<Fact>[], context: FoldContext) => Promise<Draft>
  /** Pure and synchronous: no I/O, no clock, no randomness. May mutate and return the draft it was given. */
  readonly evolve: (draft: Draft, record: Recorded<Fact>, context: FoldContext) => Draft
  /**
   * The statements that go into the transaction which moves the checkpoint: rows and outbox. Sorted by key, and so are
   * the rows inside each `unnest`, so that two owners never deadlock.
   */
  readonly save: (draft: Draft) => readonly Statement[]
  /** May be lost in a crash: replies, cache eviction, metrics. Not called in a rebuild. */
  readonly after?: (draft: Draft) => Promise<void>
  /** Copies that were dropped, once that is committed: for a gateway that waits for a reply to one. Like `after`. */
  readonly onCopies?: (db: Db, copies: readonly Recorded<Fact>[]) => Promise<void>
  /**
   * Those of these partitions that `tick` has something to do for, asked once a second for all that are owned. Where
   * left out, every partition is ticked every time.
   */
  readonly due?: (db: Db, instant: Date, context: DueContext) => Promise<readonly number[]>
  /**
   * What time alone does to this partition's rows, as of `instant`; committed like a batch, under the same fence. Runs
   * only once the checkpoint has passed the log's end as it was at `instant`.
   */
  readonly tick?: (db: Db, instant: Date, context: FoldContext) => Promise<readonly Statement[]>
}
