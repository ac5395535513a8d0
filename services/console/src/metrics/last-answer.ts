import { type Sample, totalOf } from './sample.ts'
import type { ServiceReading } from './service-readings.ts'

/** What a service said when one of its processes last answered. */
export interface LastAnswer {
  readonly atMs: number
  readonly lagRecords: number
  /** How many records the gateways have published since: they wait, too. */
  readonly recordedSince: number
}

/** The last answer of a service after one more sample; undefined: there was none yet. */
export function lastAnswerAfter(
  before: LastAnswer | undefined,
  { answering, lagRecords }: Pick<ServiceReading, 'answering' | 'lagRecords'>,
  sample: Sample,
): LastAnswer | undefined {
  if (answering > 0) return { atMs: sample.atMs, lagRecords: lagRecords ?? 0, recordedSince: 0 }
  return before && { ...before, recordedSince: before.recordedSince + totalOf([sample], 'record') }
}
