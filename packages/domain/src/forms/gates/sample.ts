import { createHash } from 'node:crypto'
import type { Gate } from './gate.ts'

/** Passes for a fixed share of users. The bucket is a hash of form and user, so a form never draws again. */
export const sample: Gate<'sample'> = {
  atVisit: false,
  reasons: { 'sampled-out': 'the user was not drawn for the sample' },
  setting: ({ sample: percent }) => (percent < 100 ? { name: 'Sample', words: `${percent} % of users` } : undefined),
  describe: ({ bucket, threshold }) =>
    bucket === null ? 'everybody' : `drew ${bucket} of 10000; in below ${threshold} (${threshold / 100} %)`,
  compile: ({ id, sample: percent }) => {
    const threshold = timesHundred(percent)
    return {
      reason: 'sampled-out',
      check: ({ userId }) => {
        const bucket = percent >= 100 ? null : bucketOf(id, userId)
        return { gate: 'sample', passed: bucket === null || bucket < threshold, compared: { bucket, threshold } }
      },
    }
  },
}

/** Moves the decimal point by two places. In floating point, 0.07 times 100 is more than 7. */
function timesHundred(percent: number): number {
  const [digits, exponent = '0'] = String(percent).split('e')
  return Number(`${digits}e${Number(exponent) + 2}`)
}

function bucketOf(formId: string, userId: string): number {
  return createHash('sha256').update(`${formId}:${userId}`).digest().readUInt32BE(0) % 10_000
}
