/** One record of the log, as a fetch returns it. */
export interface FetchedRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  /** The broker's or producer's timestamp, ms since the epoch. */
  readonly timestampMs: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, string>>
}
