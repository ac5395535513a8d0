/** First and last offsets of a partition that can be read. */
export interface Watermarks {
  readonly low: bigint
  /** One past the last record: the log's end. */
  readonly high: bigint
}
