/** Range of a partition's readable offsets. */
export interface Watermarks {
  readonly low: bigint
  /** One past the last record: the log's end. */
  readonly high: bigint
}
