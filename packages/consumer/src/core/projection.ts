import type { CatalogView } from '@nextvisit/catalog'
import type { Sealed, SealedFormFact, SealedUserFact } from '@nextvisit/contracts'
import type { Db, Sql } from '@nextvisit/database'
import type { ZodType } from 'zod'

/** A record's value. Its type selects the function that folds it. */
export interface AnyFact {
  readonly type: string
}

/** A fact and its place in the log. */
export interface Recorded<Fact> {
  readonly fact: Fact
  /** The sealed members of an opened record, as in the log, for copies of them. Absent: they were not opened. */
  readonly sealed?: Sealed
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  /** The record's time in Kafka, ms since the epoch. */
  readonly timestampMs: number
  /** `ce_id`: the id of the request that led to the record, or the record's own. */
  readonly id?: string | undefined
  /** The Redis channel of a gateway that waits for a reply to this record. */
  readonly replyTo?: string | undefined
  /** The W3C trace that the record belongs to. */
  readonly traceparent?: string | undefined
  /**
   * The user is erased, or the data key destroyed: the ledger of duplicates, counters and the checkpoint move, and the record
   * never reaches `load` and `evolve`.
   */
  readonly isErased?: true
}

/** The inputs of a fold besides its draft and its record. */
export interface FoldContext {
  readonly catalog: CatalogView
  readonly mode: FoldMode
}

/**
 * The occasion of a fold. Only a `live` fold decides anything that depends on the moment.
 * - `late`: a retried dead letter. It may still report past events, for example that a form was shown.
 * - `rebuild`: a replay. The outcomes of the live fold are in the log already.
 */
export type FoldMode = 'live' | 'late' | 'rebuild'

export interface TickContext<Fact extends AnyFact = AnyFact> extends FoldContext, Past<Fact> {
  readonly partition: number
  /** Offset of the first record that is not folded. */
  readonly nextOffset: bigint
}

/** The folded records of a partition, for ticks that read them a second time. Both functions reject with LogUnavailableError. */
export interface Past<Fact extends AnyFact = AnyFact> {
  /**
   * Reads from an offset on: about `maxRecords` records, or up to the first record that is not folded. Records that an erasure covers
   * are marked, also if the erasure is later in the log. Records that cannot be decoded are left out, and sealed members stay closed.
   */
  readonly readAgain: (from: bigint, maxRecords: number) => Promise<ReadAgain<Fact>>
  /**
   * Returns the offset of the first record whose time in Kafka is not before `instantMs`. If there is none, the log's end, which may be
   * after the last folded record.
   */
  readonly offsetAt: (instantMs: number) => Promise<bigint>
}

/** Records that a tick has read. */
export interface ReadAgain<Fact extends AnyFact = AnyFact> {
  readonly records: readonly Recorded<Fact>[]
  /** The offset to continue from. */
  readonly nextOffset: bigint
}

/** The records of a commit that never reached `load` and `evolve`. */
export interface WithoutEffect<Fact> {
  readonly duplicates: readonly Recorded<Fact>[]
  /** Their sealed members may be closed. */
  readonly erased: readonly Recorded<Fact>[]
}

/** Identifies the duplicates of a record. */
export interface IdempotentRecord {
  readonly id: string
  /** `Infinity`: kept forever, and every duplicate is dropped. */
  readonly receivedMs: number
}

/** A record to publish once its commit has succeeded. */
export interface OutboxRow {
  /** The partition of the record that caused it, whose owner publishes the row. */
  readonly partition: number
  readonly topic: string
  readonly key: string
  readonly value: string
  readonly headers: Readonly<Record<string, string>>
}

/** The rows that one commit writes. */
export interface Writes {
  readonly statements: readonly Sql[]
  /** Records to publish once the commit has succeeded, in this order. */
  readonly outbox?: readonly OutboxRow[]
}

/** A fact of a projection as it is in the log: its personal members are sealed. Any fact, if the type of facts is hidden. */
export type SealedFactOf<Fact extends AnyFact> = 0 extends 1 & Fact
  ? // oxlint-disable-next-line typescript/no-explicit-any
    any
  : Extract<SealedUserFact | SealedFormFact, { readonly type: Fact['type'] }>

/**
 * A read model as a fold over the log: load → evolve* → save → afterCommit. Each consumer service is one of these.
 *
 * Read-modify-write only rows whose facts all share a partition; everything else adds
 * (`ON CONFLICT … SET n = t.n + excluded.n`).
 */
export interface Projection<Fact extends AnyFact = AnyFact, Draft = unknown> {
  /** Names the checkpoint and the consumer group. */
  readonly name: string
  readonly topic: string
  /**
   * The schema of its facts: of a projection that `opens` some, once they are open. Records that do not parse become dead letters
   * and never reach `evolve`.
   */
  readonly schema: ZodType<Fact>
  /**
   * The type of the records that erase a user, of a projection of `form-events` that folds them. Absent: `UserErased`, if it is among
   * its facts.
   */
  readonly fence?: 'QueueErased'
  /**
   * Returns true if the fold reads the sealed members of a fact: others keep their clear members only. An identify needs its sealed
   * members, unless `evolve` ignores it. Absent: none, and the process needs no secret key.
   */
  readonly opens?: (fact: SealedFactOf<Fact>, context: FoldContext) => boolean
  /**
   * Returns a draft with the rows that these facts touch; of several partitions, the facts of each are in order. Returns an
   * empty draft, and reads nothing, for no records and for a projection that only adds. The catalog may change before
   * `evolve`.
   */
  readonly load: (db: Db, records: readonly Recorded<Fact>[], context: FoldContext) => Draft | Promise<Draft>
  readonly evolve: Evolve<Fact, Draft>
  /**
   * Returns the rows for the transaction that moves the checkpoints. Statements of `defineTable` lock their rows by key.
   * Always write the tables in the same order, and two owners never deadlock.
   */
  readonly save: (draft: Draft) => Writes
  /**
   * Sends replies, counts, evicts caches. May be lost in a crash. `without`: records without effect, for gateways that wait
   * for a reply to one. Not called in a rebuild, nor after a retry of dead letters: no gateway waits for them any more.
   */
  readonly afterCommit?: (db: Db, draft: Draft, without: WithoutEffect<Fact>) => Promise<void>
  /**
   * Returns the key of a record whose request had an `Idempotency-Key`: a duplicate whose predecessor was received less than
   * 24 h before is dropped (decisions.md, Retries).
   */
  readonly idempotencyOf?: (fact: Fact) => IdempotentRecord | undefined
  readonly ticks?: Ticks<Fact>
}

/**
 * A table of functions that fold a record into the draft, by the record's type; `ignored` for types without effect. A new
 * type of record does not compile before each projection has a line for it. The functions change the draft. They are pure
 * otherwise: no I/O, no clock, no randomness.
 */
export type Evolve<Fact extends AnyFact, Draft> = {
  readonly [Type in Fact['type']]:
    | ((draft: Draft, record: Recorded<Extract<Fact, { readonly type: Type }>>, context: FoldContext) => void)
    | 'ignored'
}

/** Changes that time alone makes to a partition's rows. */
export interface Ticks<Fact extends AnyFact = AnyFact> {
  /** Returns the partitions that have something to do. Called once a second for all owned partitions. */
  readonly due: (
    db: Db,
    instant: Date,
    context: Pick<FoldContext, 'catalog'> & { readonly partitions: readonly number[] },
  ) => Promise<readonly number[]>
  /**
   * Returns the changes as of `instant`. They are committed like a batch, under the same fence, and only after the
   * checkpoint has passed the end that the log had at `instant`. `afterCommit` is called then, but may be lost in a crash.
   */
  readonly tick: (
    db: Db,
    instant: Date,
    context: TickContext<Fact>,
  ) => Promise<Writes & { readonly afterCommit?: () => void }>
}

/** Folds records into a draft, in order. Returns the draft. */
export function evolveDraft<Fact extends AnyFact, Draft>(
  { evolve }: Pick<Projection<Fact, Draft>, 'evolve'>,
  draft: Draft,
  records: readonly Recorded<Fact>[],
  context: FoldContext,
): Draft {
  for (const record of records) {
    const fold = evolve[record.fact.type as Fact['type']]
    if (fold !== 'ignored') fold(draft, record as never, context)
  }
  return draft
}
