import type { CatalogView } from '@nextvisit/catalog'
import type { Db, Statement } from '@nextvisit/database'
import type { ZodType } from 'zod'
import type { OutboxRow } from './outbox/outbox.ts'

/** A fact and its place in the log. */
export interface Recorded<Fact> {
  readonly fact: Fact
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  /** The record's time in Kafka, ms since the epoch. */
  readonly timestampMs: number
  /** `ce_id`: the id of the request that led to the record, or the record's own. */
  readonly id?: string | undefined
  /** Redis channel of a gateway that waits for a reply to this record. */
  readonly replyTo?: string | undefined
  /** The W3C trace that the record belongs to. */
  readonly traceparent?: string | undefined
}

/** What a fold may read besides its draft and its record. */
export interface FoldContext {
  readonly catalog: CatalogView
  /** A rebuild, or a dead letter that is folded late: the fold decides nothing that depends on the moment. */
  readonly isRebuild: boolean
  /** A dead letter that is folded late. It may still report what has happened: that a form was shown, for example. */
  readonly isLate?: boolean
}

export interface TickContext extends FoldContext {
  readonly partition: number
  /** Runs this once the tick's statements are committed. May be lost in a crash, as `after`. */
  readonly onCommit?: (run: () => void) => void
}

/** What `due` is asked about. */
export interface DueContext extends Pick<FoldContext, 'catalog'> {
  readonly partitions: readonly number[]
}

/** What a duplicate of a record is recognized by. */
export interface IdempotentRecord {
  readonly id: string
  /** `Infinity`: kept for ever, and every duplicate is dropped. */
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
   * For records whose requests had an `Idempotency-Key`: a duplicate whose predecessor was received less than 24 h before
   * is dropped (decisions.md, Retries).
   */
  readonly idempotencyOf?: (fact: Fact) => IdempotentRecord | undefined
  readonly empty: () => Draft
  /**
   * Reads the rows that these facts touch: of several partitions, each one's in order. Leave out when writes only add. The
   * catalog may change before `evolve`.
   */
  readonly load?: (db: Db, batch: readonly Recorded<Fact>[], context: FoldContext) => Promise<Draft>
  /** Pure and synchronous: no I/O, no clock, no randomness. May mutate and return the draft it was given. */
  readonly evolve: (draft: Draft, record: Recorded<Fact>, context: FoldContext) => Draft
  /**
   * The statements for the transaction that moves the checkpoints. Those of `defineTable` lock their rows by key. Always
   * write the tables in the same order, and two owners never deadlock.
   */
  readonly save: (draft: Draft) => readonly Statement[]
  /** What the commit puts into the outbox, to be published in this order. */
  readonly publish?: (draft: Draft) => readonly OutboxRow[]
  /** May be lost in a crash: replies, cache eviction, metrics. Not called in a rebuild. */
  readonly after?: (draft: Draft) => Promise<void>
  /** Called with dropped duplicates after the commit, for a gateway that waits for a reply to one. Like `after`. */
  readonly onDuplicates?: (db: Db, duplicates: readonly Recorded<Fact>[]) => Promise<void>
  /**
   * Which of these partitions `tick` has something to do for. Called once a second for all owned partitions. When left
   * out, every partition is ticked every time.
   */
  readonly due?: (db: Db, instant: Date, context: DueContext) => Promise<readonly number[]>
  /**
   * What time alone does to this partition's rows, as of `instant`. Committed like a batch, under the same fence. Runs
   * only after the checkpoint has passed the end that the log had at `instant`.
   */
  readonly tick?: (db: Db, instant: Date, context: TickContext) => Promise<readonly Statement[]>
}
