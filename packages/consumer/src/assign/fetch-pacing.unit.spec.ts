import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FetchedBatch, FetchedRecord } from '@nextvisit/log'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createFetchPacing, type FetchPacing } from './fetch-pacing.ts'

const FOR_EVER_MS = 600_000
const topic = 'any'

type PartitionOfBatch = Parameters<FetchPacing['give']>[0]

/**
 * Returns a batch at one offset. `behind`: how many more records the log holds. `awaited`: for each record, whether a caller
 * waits for it.
 */
function batchOf({ partition = 0, offset = 0n, count = 1n, behind = 0n, awaited = [false] } = {}): FetchedBatch {
  const nextOffset = offset + count
  const records = awaited.map((isIt) => ({ headers: isIt ? { awaited: 'yes' } : {} }) as FetchedRecord)
  return { topic, partition, fetchedFrom: offset, nextOffset, highWatermark: nextOffset + behind, records }
}

/** A partition that folds each batch at once. */
const partition = { give: async () => undefined }

/** Gives a fetched batch to its partition. Resolves when the next batch may be fetched. */
async function fetchNext(pacing: FetchPacing, batch: FetchedBatch, given: PartitionOfBatch = partition): Promise<void> {
  await pacing.give(given, batch)
  await pacing.mayFetch([batch])
}

/** Returns true if the next batch may be fetched without a call of `fetchNow`. */
async function mayFetch(fetching: Promise<unknown>): Promise<boolean> {
  return Promise.race([fetching.then(() => true), nextTurn(false)])
}

/** Returns true if there is a pause before the next batch may be fetched. Ends the pause. */
async function pauses(pacing: FetchPacing, fetching: Promise<unknown>): Promise<boolean> {
  const isPausing = !(await mayFetch(fetching))
  pacing.fetchNow()
  await fetching
  return isPausing
}

describe('the pause between fetches', () => {
  it('begins after a batch, which is folded at once, and ends when a caller waits', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    const folded: FetchedBatch[] = []
    const fetching = fetchNext(pacing, batchOf(), { give: async (batch) => void folded.push(batch) })
    expect(await mayFetch(fetching)).toBe(false)
    expect(folded).toHaveLength(1)
    pacing.fetchNow()
    await fetching
  })

  it('ends by itself, for all partitions at the same time', async () => {
    const pacing = createFetchPacing(1)
    const both = [fetchNext(pacing, batchOf()), fetchNext(pacing, batchOf({ partition: 1 }))]
    await expect(Promise.all(both)).resolves.toHaveLength(2)
  })

  it('begins again after a caller has ended it', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    expect(await pauses(pacing, fetchNext(pacing, batchOf()))).toBe(true)
    expect(await pauses(pacing, fetchNext(pacing, batchOf({ offset: 1n })))).toBe(true)
  })

  it('ends by itself where callers wait for replies, once enough records must have gathered', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS, () => false)
    const many = 1_000_000_000n
    await fetchNext(pacing, batchOf({ count: many }))
    await fetchNext(pacing, batchOf({ offset: many, count: many }))
    expect(await pauses(pacing, fetchNext(pacing, batchOf({ offset: 2n * many })))).toBe(true)
    const silent = createFetchPacing(FOR_EVER_MS)
    expect(await pauses(silent, fetchNext(silent, batchOf({ count: many })))).toBe(true)
  })

  it('does not begin while a partition lags behind the end of the log', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    const atEnd = fetchNext(pacing, batchOf())
    const behind = fetchNext(pacing, batchOf({ partition: 1, behind: 1n }))
    expect(await mayFetch(Promise.all([atEnd, behind]))).toBe(true)
    expect(await mayFetch(fetchNext(pacing, batchOf({ offset: 1n })))).toBe(true)
    expect(await pauses(pacing, fetchNext(pacing, batchOf({ partition: 1, offset: 1n })))).toBe(true)
  })

  it('begins although a halted partition lags and has an awaited record', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    const halted = { give: () => new Promise<undefined>(() => {}) }
    void fetchNext(pacing, batchOf({ partition: 1, behind: 5n }), halted)
    pacing.fetchAwaited({ partition: 1, offset: 3n })
    pacing.fetchNow()
    expect(await pauses(pacing, fetchNext(pacing, batchOf()))).toBe(true)
  })

  it('begins again after a second without an awaited record, because its partition cannot be read', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const pacing = createFetchPacing(FOR_EVER_MS)
    pacing.fetchAwaited({ partition: 1, offset: 9_999_999n })
    expect(await mayFetch(fetchNext(pacing, batchOf()))).toBe(true)
    vi.advanceTimersByTime(1_000)
    expect(await pauses(pacing, fetchNext(pacing, batchOf({ offset: 1n })))).toBe(true)
  })

  it('begins although a partition that this process no longer owns has records', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    await fetchNext(pacing, batchOf({ partition: 1, behind: 1n }))
    pacing.fetchAwaited({ partition: 2, offset: 5n })
    pacing.reassign()
    expect(await pauses(pacing, fetchNext(pacing, batchOf()))).toBe(true)
  })
})

describe('a record that a caller waits for', () => {
  it('ends the pause', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    const fetching = fetchNext(pacing, batchOf())
    pacing.fetchAwaited({ partition: 0, offset: 1n })
    expect(await mayFetch(fetching)).toBe(true)
  })

  it('prevents the pause before it is fetched, even if a gateway names it during the fold or before the fetch', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    pacing.fetchAwaited({ partition: 0, offset: 1n })
    expect(await mayFetch(fetchNext(pacing, batchOf({ partition: 1 })))).toBe(true)
    expect(await mayFetch(fetchNext(pacing, batchOf()))).toBe(true)
    expect(await pauses(pacing, fetchNext(pacing, batchOf({ offset: 1n })))).toBe(true)
  })

  it('may be named before an earlier one, and still prevents the pause', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    pacing.fetchAwaited({ partition: 0, offset: 2n })
    pacing.fetchAwaited({ partition: 0, offset: 1n })
    expect(await mayFetch(fetchNext(pacing, batchOf({ offset: 1n })))).toBe(true)
    expect(await pauses(pacing, fetchNext(pacing, batchOf({ offset: 2n })))).toBe(true)
  })

  it('ends no pause if it was fetched before a gateway named it', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    const fetching = fetchNext(pacing, batchOf({ offset: 1n }))
    pacing.fetchAwaited({ partition: 0, offset: 1n })
    expect(await pauses(pacing, fetching)).toBe(true)
  })

  it('prevents the pause after it, because the next record is likely to be awaited, too', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS, ({ headers }) => headers['awaited'] !== undefined)
    expect(await mayFetch(fetchNext(pacing, batchOf({ awaited: [true, true] })))).toBe(true)
    expect(await pauses(pacing, fetchNext(pacing, batchOf({ offset: 1n, awaited: [true, false] })))).toBe(true)
    const ofAnother = fetchNext(pacing, batchOf({ partition: 1 }))
    expect(await mayFetch(fetchNext(pacing, batchOf({ offset: 3n, awaited: [true] })))).toBe(true)
    expect(await pauses(pacing, ofAnother)).toBe(true)
    expect(await pauses(pacing, fetchNext(pacing, batchOf({ offset: 2n, awaited: [] })))).toBe(true)
  })
})
