import { PositionOutsideLogError } from '../errors.ts'
import type { Watermarks } from '../read/group-reader.ts'

/** Whether reading may begin there: from the first record of the log to its end, both included. */
export function isInLog(position: bigint, marks: Watermarks | undefined): marks is Watermarks {
  return marks !== undefined && position >= marks.low && position <= marks.high
}

/** Throws PositionOutsideLogError unless the position is in the log. */
export function requireInLog(
  topic: string,
  partition: number,
  position: bigint,
  marks: Watermarks | undefined,
): asserts marks is Watermarks {
  if (!isInLog(position, marks)) throw new PositionOutsideLogError(topic, partition, position)
}
