import { type Sample, totalOf } from './sample.ts'
import type { ServiceReading } from './service-readings.ts'

/** State of a service at the last answer of one of its processes. */
export interface LastAnswer {
  readonly atMs: number
  readonly lagRecords: number
  /** Number of records that the gateways have published since, which wait, too. */
  readonly recordedSince: number
}

/** Updates the last answer of a service with one more sample; undefined: none yet. */
export function lastAnswerAfter(
  before: LastAnswer | undefined,
  { answering, lagRecords }: Pick<ServiceReading, 'answering' | 'lagRecords'>,
  sample: Sample,
): LastAnswer | undefined {
  if (answering > 0) return { atMs: sample.atMs, lagRecords: lagRecords ?? 0, recordedSince: 0 }
  return before && { ...before, recordedSince: before.recordedSince + totalOf([sample], 'record') }
}
