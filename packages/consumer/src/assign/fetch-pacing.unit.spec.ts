import { setTimeout as sleep } from 'node:timers/promises'
import type { FetchedBatch, FetchedRecord } from '@nextvisit/log'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Partition } from '../fold/partition.ts'
import { createFetchPacing, type FetchPacing } from './fetch-pacing.ts'

const FOR_EVER_MS = 600_000
const topic = 'any'

/** Of one record. `behind`: how many more the log holds. `awaited`: records that a caller waits for, or does not. */
function batchOf({ partition = 0, offset = 0n, behind = 0n, awaited = [false] } = {}): FetchedBatch {
  const nextOffset = offset + 1n
  const records = awaited.map((isIt) => ({ headers: isIt ? { awaited: 'yes' } : {} }) as FetchedRecord)
  return { topic, partition, fetchedFrom: offset, nextOffset, highWatermark: nextOffset + behind, records }
}

/** A partition that says which of its batches it has folded. */
function givenPartition() {
  const folded: FetchedBatch[] = []
  const give = async (batch: FetchedBatch) => void folded.push(batch)
  return { folded, one: { give } as unknown as Partition }
}

const { one } = givenPartition()

/** One fetch, from its batch to the next fetch. */
async function read(pacing: FetchPacing, partition: Partition, batch: FetchedBatch): Promise<void> {
  await pacing.handle(partition, batch)
  await pacing.mayFetch([batch])
}

/** Returns true if the next batch may be fetched without a call of `fetchNow`. */
async function mayFetch(handled: Promise<unknown>): Promise<boolean> {
  return Promise.race([handled.then(() => true), sleep(20, false)])
}

/** Returns true if records gather before the next batch may be fetched. Ends the pause. */
async function gathers(pacing: FetchPacing, handled: Promise<unknown>): Promise<boolean> {
  const isFetchPacing = !(await mayFetch(handled))
  pacing.fetchNow()
  await handled
  return isFetchPacing
}

describe('gathering', () => {
  it('folds a batch at once, and lets later records gather in the log until a caller waits', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    const partition = givenPartition()
    const handled = read(pacing, partition.one, batchOf())
    expect(await mayFetch(handled)).toBe(false)
    expect(partition.folded).toHaveLength(1)
    pacing.fetchNow()
    await handled
  })

  it('ends by itself, for all partitions at the same time', async () => {
    const pacing = createFetchPacing(1)
    const both = [read(pacing, one, batchOf()), read(pacing, one, batchOf({ partition: 1 }))]
    await expect(Promise.all(both)).resolves.toHaveLength(2)
  })

  it('begins again after a caller has ended it', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    expect(await gathers(pacing, read(pacing, one, batchOf()))).toBe(true)
    expect(await gathers(pacing, read(pacing, one, batchOf({ offset: 1n })))).toBe(true)
  })

  it('does not begin while a partition lags behind the end of the log', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    const atEnd = read(pacing, one, batchOf())
    const behind = read(pacing, one, batchOf({ partition: 1, behind: 1n }))
    expect(await mayFetch(Promise.all([atEnd, behind]))).toBe(true)
    expect(await mayFetch(read(pacing, one, batchOf({ offset: 1n })))).toBe(true)
    expect(await gathers(pacing, read(pacing, one, batchOf({ partition: 1, offset: 1n })))).toBe(true)
  })

  it('continues beside a halted partition that lags and is awaited', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    const halted = { give: () => new Promise<void>(() => {}) } as unknown as Partition
    void read(pacing, halted, batchOf({ partition: 1, behind: 5n }))
    pacing.fetchUpTo({ topic, partition: 1, offset: 3n })
    pacing.fetchNow()
    expect(await gathers(pacing, read(pacing, one, batchOf()))).toBe(true)
  })

  it('continues after a second without the record: its partition cannot be read', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const pacing = createFetchPacing(FOR_EVER_MS)
    pacing.fetchUpTo({ topic, partition: 1, offset: 9_999_999n })
    expect(await mayFetch(read(pacing, one, batchOf()))).toBe(true)
    vi.advanceTimersByTime(1_000)
    expect(await gathers(pacing, read(pacing, one, batchOf({ offset: 1n })))).toBe(true)
  })

  it('ignores partitions that this process no longer owns', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    await read(pacing, one, batchOf({ partition: 1, behind: 1n }))
    pacing.fetchUpTo({ topic, partition: 2, offset: 5n })
    pacing.reassign()
    expect(await gathers(pacing, read(pacing, one, batchOf()))).toBe(true)
  })
})

describe('a record that a caller waits for', () => {
  it('ends the pause', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    const handled = read(pacing, one, batchOf())
    pacing.fetchUpTo({ topic, partition: 0, offset: 1n })
    expect(await mayFetch(handled)).toBe(true)
  })

  it('lets no records gather before it is fetched, even if a gateway names it during the fold or before the fetch', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    pacing.fetchUpTo({ topic, partition: 0, offset: 1n })
    expect(await mayFetch(read(pacing, one, batchOf({ partition: 1 })))).toBe(true)
    expect(await mayFetch(read(pacing, one, batchOf()))).toBe(true)
    expect(await gathers(pacing, read(pacing, one, batchOf({ offset: 1n })))).toBe(true)
  })

  it('is the last named one, in whatever order the gateways name them', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    pacing.fetchUpTo({ topic, partition: 0, offset: 2n })
    pacing.fetchUpTo({ topic, partition: 0, offset: 1n })
    expect(await mayFetch(read(pacing, one, batchOf({ offset: 1n })))).toBe(true)
    expect(await gathers(pacing, read(pacing, one, batchOf({ offset: 2n })))).toBe(true)
  })

  it('ends no pause if it was fetched before a gateway named it', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS)
    const handled = read(pacing, one, batchOf({ offset: 1n }))
    pacing.fetchUpTo({ topic, partition: 0, offset: 1n })
    expect(await gathers(pacing, handled)).toBe(true)
  })

  it('lets no records gather after it, because the next one is likely to be awaited, too', async () => {
    const pacing = createFetchPacing(FOR_EVER_MS, ({ headers }) => headers['awaited'] !== undefined)
    expect(await mayFetch(read(pacing, one, batchOf({ awaited: [true, true] })))).toBe(true)
    expect(await gathers(pacing, read(pacing, one, batchOf({ offset: 1n, awaited: [true, false] })))).toBe(true)
    const ofAnother = read(pacing, one, batchOf({ partition: 1 }))
    expect(await mayFetch(read(pacing, one, batchOf({ offset: 3n, awaited: [true] })))).toBe(true)
    expect(await gathers(pacing, ofAnother)).toBe(true)
    expect(await gathers(pacing, read(pacing, one, batchOf({ offset: 2n, awaited: [] })))).toBe(true)
  })
})
