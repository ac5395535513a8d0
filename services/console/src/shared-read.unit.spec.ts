import { describe, expect, it } from 'vitest'
import { createSharedRead, orReadLast } from './shared-read.ts'

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
    const ask = createSharedRead(read, 5_000, () => nowMs)
    const both = Promise.all([ask(), ask()])
    nowMs = 60_000
    const third = ask()
    reads[0]?.resolve('one')
    expect([...(await both), await third]).toEqual(['one', 'one', 'one'])
    nowMs += 4_999
    expect(await ask()).toBe('one')
    expect(reads).toHaveLength(1)
    nowMs += 1
    const later = ask()
    reads[1]?.resolve('two')
    expect(await later).toBe('two')
  })

  it('waits after a failure before the next read', async () => {
    const { reads, read } = givenRead()
    let nowMs = 0
    const ask = createSharedRead(read, 5_000, () => nowMs)
    const first = ask()
    reads[0]?.reject(new Error('away'))
    await expect(first).rejects.toThrow('away')
    await expect(ask()).rejects.toThrow('away')
    expect(reads).toHaveLength(1)
    nowMs = 5_000
    const later = ask()
    reads[1]?.resolve('there')
    expect(await later).toBe('there')
  })
})

describe('orReadLast', () => {
  it('returns the last answer while a read runs or fails, then the new one', async () => {
    const { reads, read } = givenRead()
    const ask = orReadLast(read, 1)
    const first = ask()
    reads[0]?.resolve('one')
    expect(await first).toBe('one')
    // The second read runs until the end.
    expect(await ask()).toBe('one')
    const third = ask()
    reads[2]?.reject(new Error('away'))
    expect(await third).toBe('one')
    reads[1]?.resolve('two')
    await reads[1]?.promise
    expect(await ask()).toBe('two')
  })

  it('fails if nothing was ever read', async () => {
    const ask = orReadLast(() => Promise.reject(new Error('away')), 1)
    await expect(ask()).rejects.toThrow('away')
  })
})
