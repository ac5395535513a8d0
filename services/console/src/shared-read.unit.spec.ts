import { describe, expect, it } from 'vitest'
import { createSharedRead, withLastAnswer } from './shared-read.ts'

/** Creates a read with controlled answers, and the list of reads so far. */
function givenRead() {
  const reads: PromiseWithResolvers<string>[] = []
  const read = () => {
    const next = Promise.withResolvers<string>()
    reads.push(next)
    return next.promise
  }
  return { reads, read }
}

describe('createSharedRead', () => {
  it('reads once for all callers, and again when the answer is too old', async () => {
    const { reads, read } = givenRead()
    let nowMs = 0
    const readShared = createSharedRead(read, 5_000, () => nowMs)
    const both = Promise.all([readShared(), readShared()])
    nowMs = 60_000
    const third = readShared()
    reads[0]?.resolve('one')
    expect([...(await both), await third]).toEqual(['one', 'one', 'one'])
    nowMs += 4_999
    expect(await readShared()).toBe('one')
    expect(reads).toHaveLength(1)
    nowMs += 1
    const later = readShared()
    reads[1]?.resolve('two')
    expect(await later).toBe('two')
  })

  it('waits after a failure before the next read', async () => {
    const { reads, read } = givenRead()
    let nowMs = 0
    const readShared = createSharedRead(read, 5_000, () => nowMs)
    const first = readShared()
    reads[0]?.reject(new Error('away'))
    await expect(first).rejects.toThrow('away')
    await expect(readShared()).rejects.toThrow('away')
    expect(reads).toHaveLength(1)
    nowMs = 5_000
    const later = readShared()
    reads[1]?.resolve('there')
    expect(await later).toBe('there')
  })
})

describe('withLastAnswer', () => {
  it('returns the last answer while a read runs or fails, then the new one', async () => {
    const { reads, read } = givenRead()
    const readShared = withLastAnswer(read, 1)
    const first = readShared()
    reads[0]?.resolve('one')
    expect(await first).toBe('one')
    // The second read runs until the end.
    expect(await readShared()).toBe('one')
    const third = readShared()
    reads[2]?.reject(new Error('away'))
    expect(await third).toBe('one')
    reads[1]?.resolve('two')
    await reads[1]?.promise
    expect(await readShared()).toBe('two')
  })

  it('fails if nothing was ever read', async () => {
    const readShared = withLastAnswer(() => Promise.reject(new Error('away')), 1)
    await expect(readShared()).rejects.toThrow('away')
  })
})
