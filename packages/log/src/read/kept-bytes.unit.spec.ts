import { createHook } from 'node:async_hooks'
import * as zlib from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { givenFetched } from '../../test/read-fetched.ts'
import { fetchedBatches } from './fetched-batch.ts'

const counted = { decompressions: 0 }

/** Node creates a stream for each decompression. */
const streams = createHook({
  init: (_id, _type, _trigger, resource) => {
    if (resource.constructor.name === 'ZstdDecompress') counted.decompressions += 1
  },
})
beforeAll(() => void streams.enable())
afterAll(() => void streams.disable())
beforeEach(() => void (counted.decompressions = 0))

const PARTS = 10

const zstdCompressed = (records: Buffer) => zlib.zstdCompressSync(records)

/** The parts of one compressed batch of `PARTS` records, one record each. */
function givenParts(recordBytes: number) {
  const value = Buffer.alloc(recordBytes, ' ')
  const records = Array.from({ length: PARTS }, (_, offsetDelta) => ({
    offsetDelta,
    timestampDelta: 0n,
    key: null,
    value,
    headers: [],
  }))
  const batch = {
    firstOffset: 0n,
    firstTimestamp: 1_000n,
    maxTimestamp: 2_000n,
    records,
    attributes: 4,
    body: zstdCompressed,
  }
  return fetchedBatches(givenFetched([batch]), { bounds: { maxRecords: 1, maxBytes: 2 ** 20 }, withStandIns: false })
}

/** Reads a part of each batch in turn, until all end. Returns the number of parts. */
async function readInTurn(batches: readonly ReturnType<typeof givenParts>[]): Promise<number> {
  let parts = 0
  for (let open = [...batches]; open.length > 0; ) {
    const results: boolean[] = []
    for (const batch of open) results.push((await batch.next()).done === true)
    parts += results.filter((done) => !done).length
    open = open.filter((_, index) => results[index] === false)
  }
  return parts
}

const [SMALL, LARGE] = [1_000, 1_000_000]

describe('a compressed batch of many parts', () => {
  it('is decompressed once', async () => {
    expect(await readInTurn([givenParts(LARGE)])).toBe(PARTS)
    expect(counted.decompressions).toBe(1)
  })

  it('is decompressed once while batches of other partitions are read in turn, if all fit into 32 MiB', async () => {
    const [few, many] = [[LARGE, LARGE], Array.from({ length: 50 }, () => SMALL)]
    for (const sizes of [few, many]) {
      counted.decompressions = 0
      expect(await readInTurn(sizes.map(givenParts))).toBe(PARTS * sizes.length)
      expect(counted.decompressions).toBe(sizes.length)
    }
  })

  it('does not give way to others: only those beyond 32 MiB are decompressed for each part', async () => {
    await readInTurn(Array.from({ length: 4 }, () => givenParts(LARGE)))
    expect(counted.decompressions).toBeLessThanOrEqual(3 + PARTS)
  })

  it('gives its room back if its reader leaves', async () => {
    for (let readers = 0; readers < 5; readers += 1) {
      const left = givenParts(LARGE)
      await left.next()
      await left.return()
    }
    counted.decompressions = 0
    await readInTurn([givenParts(LARGE)])
    expect(counted.decompressions).toBe(1)
  })

  it('gives way if its reader has waited during 300 decompressions', async () => {
    const waiting = Array.from({ length: 3 }, () => givenParts(LARGE))
    for (const batch of waiting) await batch.next()
    for (let read = 0; read < 301; read += 1) {
      const other = givenParts(SMALL)
      await other.next()
      await other.return()
    }
    counted.decompressions = 0
    await readInTurn([givenParts(LARGE)])
    expect(counted.decompressions).toBe(1)
    for (const batch of waiting) await batch.return()
  })
})
