import { PositionOutsideLogError } from '../errors.ts'
import type { Watermarks } from '../watermarks.ts'

/** A former leader may lack the end of the log, so a few fetches outside the log are tolerated. */
export const MAX_OUTSIDE_LOG = 3

/** Throws PositionOutsideLogError unless the position is between the log's first record and its end, inclusive. */
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
