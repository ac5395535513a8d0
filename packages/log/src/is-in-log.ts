import type { Watermarks } from './record-consumer.ts'

/** Whether reading may begin there: from the first record of the log to its end, both included. */
export function isInLog(position: bigint, marks: Watermarks | undefined): marks is Watermarks {
  return marks !== undefined && position >= marks.low && position <= marks.high
}
