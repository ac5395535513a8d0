/** One record on its way to the log. The partition is given, because reservations are settled by its owner. */
export interface RecordToPublish {
  readonly topic: string
  readonly partition: number
  readonly key: string
  /** Null: a compacted topic may drop older records with this key. */
  readonly value: string | null
  readonly headers: Readonly<Record<string, string>>
}

/** Records of one partition whose order matters: once one of them is not, or may not be, in the log, none is sent any more. */
export interface RecordSequence {
  isBroken: boolean
}

/**
 * The outcome of publishing a record.
 * - `published`: in the log with `acks=all`.
 * - `not-published`: certainly not in the log (queue full, deadline passed in the queue, stopped, after a failed one of its
 *   sequence). Its reservations may be released.
 * - `unknown`: it was in a request whose answer did not come. It may be in the log or not. It is never sent again.
 */
export type PublishOutcome =
  | { readonly outcome: 'published'; readonly offset: bigint }
  | { readonly outcome: 'not-published'; readonly reason: 'queue-full' | 'deadline' | 'stopped' | 'broken-sequence' }
  | { readonly outcome: 'unknown'; readonly cause: Error }

export interface Publisher {
  /** Connects. Rejects if no broker answers within the connect deadline. */
  readonly start: () => Promise<void>
  /** Never rejects. `deadlineAt` is a `performance.now()` instant after which the caller no longer waits. */
  readonly publish: (record: RecordToPublish, deadlineAt: number, sequence?: RecordSequence) => Promise<PublishOutcome>
  /** Whether the last exchange with the broker went well. */
  readonly isConnected: () => boolean
  /** Lets the request in flight finish within `withinMs`, and refuses the rest. */
  readonly stop: (withinMs: number) => Promise<void>
}
