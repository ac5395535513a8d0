/** A record to publish. The caller chooses the partition, because its owner settles reservations. */
export interface RecordToPublish {
  readonly topic: string
  readonly partition: number
  readonly key: string
  /** Null: a compacted topic may drop older records with this key. */
  readonly value: string | null
  readonly headers: Readonly<Record<string, string>>
}

/** Ordered records of one partition. After one that failed or may have failed, no further record is sent. */
export interface RecordSequence {
  isBroken: boolean
}

/**
 * The outcome of publishing a record.
 * - `published`: in the log with `acks=all`.
 * - `not-published`: not in the log (queue full, deadline passed in the queue, stopped, refused by the broker, or an earlier
 *   record of its sequence failed). Its reservations may be released.
 * - `unknown`: sent, but not acknowledged. It may or may not be in the log, and is never sent again.
 */
export type PublishOutcome =
  | { readonly outcome: 'published'; readonly offset: bigint }
  | { readonly outcome: 'not-published'; readonly reason: 'queue-full' | 'deadline' | 'stopped' | 'broken-sequence' }
  | { readonly outcome: 'not-published'; readonly reason: 'refused'; readonly cause: Error }
  | { readonly outcome: 'unknown'; readonly cause: Error }
