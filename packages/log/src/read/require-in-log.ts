import { PositionOutsideLogError } from '../errors.ts'
import type { Watermarks } from '../watermarks.ts'

/** Throws PositionOutsideLogError unless reading may begin at the position: from the first record to the log's end, inclusive. */
export function requireInLog(
  topic: string,
  partition: number,
  position: bigint,
  marks: Watermarks | undefined,
): asserts marks is Watermarks {
  if (!marks || position < marks.low || position > marks.high) {
    throw new PositionOutsideLogError(topic, partition, position)
  }
}
