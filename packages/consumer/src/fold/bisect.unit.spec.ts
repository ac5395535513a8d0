import type { FetchedRecord } from '@nextvisit/log'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { bisect, type Attempt } from './bisect.ts'
import type { PartitionCheckpoint } from './checkpoint.ts'
import type { Outcome, PartitionBatch } from './partition-batch.ts'

const MAX_ATTEMPTS_A_BUG = 24

/** A checkpoint that is only in memory. */
function givenCheckpoint(partition: number): PartitionCheckpoint {
  let stored = { nextOffset: 0n, version: 0n, table: 1 }
  return {
    key: { projection: 'visits', topic: 'user-events', partition },
    open: async () => stored,
    current: () => stored,
    replace: (checkpoint) => void (stored = { ...stored, ...checkpoint }),
  }
}

function givenBatch(partition: number, records: number, headers: FetchedRecord['headers'] = {}): PartitionBatch {
  return {
    checkpoint: givenCheckpoint(partition),
    records: Array.from({ length: records }, (_, at) => ({ offset: BigInt(at), headers }) as FetchedRecord),
    nextOffset: BigInt(records),
  }
}

/** Commits batches, unless one of the bad records is among them. */
function givenAttempt(isBad: (partition: number, offset: bigint) => boolean) {
  const seen = { attempts: 0 }
  const attempt: Attempt = async (batches) => {
    seen.attempts += 1
    for (const { checkpoint, records } of batches) {
      if (records.some(({ offset }) => isBad(checkpoint.key.partition, offset))) throw new TypeError('a bug')
    }
    const outcomes = batches.map((batch): [PartitionBatch, Outcome] => {
      const { checkpoint, records, nextOffset } = batch
      checkpoint.replace({ ...checkpoint.current(), nextOffset })
      return [batch, { outcome: 'folded', records: records.length, deadLetters: 0, duplicates: 0 }]
    })
    return new Map(outcomes)
  }
  return { attempt, seen }
}

it('bisect commits the records before the first bad record of each batch, and names a bad record that comes first', async () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 6 })
  const places = fc.array(fc.tuple(fc.nat(5), fc.nat(39)), { maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(sizes, places, async (records, bad) => {
      const isBad = (partition: number, offset: bigint) =>
        bad.some(([one, at]) => one === partition && BigInt(at) === offset)
      const { attempt, seen } = givenAttempt(isBad)
      const batches = records.map((count, partition) => givenBatch(partition, count))
      const outcomes = await bisect(batches, attempt)
      expect([...outcomes.keys()]).toEqual(batches)
      for (const [partition, batch] of batches.entries()) {
        const { offset: firstBad } = batch.records.find(({ offset }) => isBad(partition, offset)) ?? {}
        expect(batch.checkpoint.current().nextOffset).toBe(firstBad ?? batch.nextOffset)
        const failed = { outcome: 'failed', error: { record: { offset: 0n } } }
        const folded = { outcome: 'folded', records: Number(firstBad ?? batch.nextOffset) }
        expect(outcomes.get(batch)).toMatchObject(firstBad === 0n ? failed : folded)
      }
      expect(seen.attempts).toBeLessThanOrEqual(1 + MAX_ATTEMPTS_A_BUG * bad.length)
    }),
  )
})

it('bisect does not repeat an attempt while Postgres is unavailable', async () => {
  const seen = { attempts: 0 }
  const away = new Error('Connection terminated unexpectedly')
  const attempt: Attempt = async () => {
    seen.attempts += 1
    throw away
  }
  const outcomes = await bisect([givenBatch(0, 3), givenBatch(1, 3)], attempt)
  expect([...outcomes.values()]).toEqual([
    { outcome: 'failed', error: away },
    { outcome: 'failed', error: away },
  ])
  expect(seen.attempts).toBe(1)
})

it('bisect names a record by an id that Postgres can store, whatever its header has', async () => {
  const { attempt } = givenAttempt(() => true)
  const batch = givenBatch(0, 1, { ce_id: `a\u0000\ud800${'b'.repeat(1_000_000)}` })
  const outcomes = await bisect([batch], attempt)
  expect(outcomes.get(batch)).toMatchObject({ error: { record: { offset: 0n, id: `a\ufffd${'b'.repeat(97)}` } } })
})
