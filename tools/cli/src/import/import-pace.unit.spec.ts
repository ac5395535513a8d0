import { TOPICS } from '@nextvisit/contracts'
import type { Client } from 'pg'
import { describe, expect, it } from 'vitest'
import { createImportPace } from './import-pace.ts'

const SERVICE = 'metering'

/** A log that grows by ten records between two looks at it, and a consumer that folds twenty between two looks at its checkpoint. */
function givenConsumer({ end, checkpoint }: { readonly end: number; readonly checkpoint: number }) {
  const looks = { ends: 0, checkpoints: 0 }
  const query = async () => {
    const nextOffset = checkpoint + 20 * looks.checkpoints
    looks.checkpoints += 1
    return { rows: [{ topic: TOPICS.userEvents, partition: 0, next_offset: String(nextOffset), record_time: null }] }
  }
  const pauses: string[] = []
  const pace = createImportPace({
    admin: {
      watermarks: async () => {
        const high = BigInt(end + 10 * looks.ends)
        looks.ends += 1
        return new Map([[0, { low: 0n, high }]])
      },
    },
    databases: new Map([
      [SERVICE, { run: async (work) => work({ query } as unknown as Client), close: () => Promise.resolve() }],
    ]),
    maxDelayMs: () => 0,
    onPause: (because) => pauses.push(because),
  })
  return { pace, looks, pauses }
}

describe('the pace of an import', () => {
  it('waits until the records before the wait are folded, and notes no later end of the log meanwhile', async () => {
    const { pace, looks, pauses } = givenConsumer({ end: 30, checkpoint: 0 })
    await pace()
    expect(looks).toEqual({ ends: 1, checkpoints: 3 })
    expect(pauses).toEqual(Array(2).fill(expect.stringMatching(/^Waiting for metering, which is \d\.\d s behind$/)))
  })

  it('does not wait for a consumer that has folded the whole log', async () => {
    const { pace, looks, pauses } = givenConsumer({ end: 30, checkpoint: 30 })
    await pace()
    expect(looks).toEqual({ ends: 1, checkpoints: 1 })
    expect(pauses).toEqual([])
  })
})
