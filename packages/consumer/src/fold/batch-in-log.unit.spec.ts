import type { FetchedRecord } from '@nextvisit/log'
import { batchOf, factsAsRecords } from '@nextvisit/testing'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { unfoldedPartOf } from './batch-in-log.ts'

const [sound] = factsAsRecords([eventTracked()])

/** A checkpoint at this offset. */
function checkpointAt(nextOffset: bigint, recordTime?: string) {
  const key = { projection: 'visits', topic: 'user-events', partition: 0 }
  const current = () => ({ nextOffset, version: 0n, table: 0, recordTime })
  return { key, current, open: async () => current(), replace: () => {} }
}

/** The record of an undecodable batch from this offset to offset 9. */
function standIn(offset: bigint): FetchedRecord {
  return { ...(sound as FetchedRecord), offset, undecodable: { error: new Error('damaged'), lastOffset: 9n } }
}

describe('the unfolded part of an undecodable batch', () => {
  it('is the whole batch at a checkpoint before it', () => {
    const fetched = { ...batchOf([standIn(4n)]), fetchedFrom: 3n, nextOffset: 10n }
    expect(unfoldedPartOf(checkpointAt(4n), fetched, undefined)).toMatchObject({
      nextOffset: 10n,
      records: [{ offset: 4n }],
    })
  })

  it('begins at a checkpoint within it: its first records were folded before it was damaged', () => {
    // A reader fetches one record before the checkpoint.
    const fetched = { ...batchOf([standIn(5n)]), fetchedFrom: 5n, nextOffset: 10n }
    expect(unfoldedPartOf(checkpointAt(6n), fetched, undefined)).toMatchObject({
      nextOffset: 10n,
      records: [{ offset: 6n, undecodable: { lastOffset: 9n } }],
    })
  })

  it('is nothing at a checkpoint after it', () => {
    const fetched = { ...batchOf([standIn(9n)]), fetchedFrom: 9n, nextOffset: 10n }
    expect(unfoldedPartOf(checkpointAt(10n), fetched, undefined)).toBeUndefined()
  })

  it('is no sign of another log if its last record had another time before it was damaged', () => {
    const other = '2020-01-01T00:00:00.000Z'
    const fetched = { ...batchOf([standIn(9n)]), fetchedFrom: 9n, nextOffset: 10n }
    expect(unfoldedPartOf(checkpointAt(10n, other), fetched, undefined)).toBeUndefined()
    const { undecodable: _, ...readable } = standIn(9n)
    const again = { ...fetched, records: [readable] }
    expect(() => unfoldedPartOf(checkpointAt(10n, other), again, undefined)).toThrow('This is another log')
  })
})
