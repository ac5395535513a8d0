import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { memoize } from './memoize.ts'

const quoted = (text: string) => JSON.stringify(text)

describe('a memoized rule', () => {
  it("returns the rule's results in any order of texts", () => {
    const texts = fc.array(
      fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', '\ud800', '\ufffd', 'a', 'a\u0308')),
    )
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 4 }), (all, max) => {
        const memoized = memoize(max, quoted)
        for (const text of all) expect(memoized(text)).toBe(quoted(text))
      }),
    )
  })

  it('calls the rule once for a text, and again after `max` others', () => {
    const rule = vi.fn<(text: string) => string>((text) => `of ${text}`)
    const memoized = memoize(2, rule)
    for (const text of ['a', 'b', 'a', 'b']) memoized(text)
    expect(rule).toHaveBeenCalledTimes(2)
    memoized('c')
    expect(memoized('a')).toBe('of a')
    expect(rule).toHaveBeenCalledTimes(4)
  })

  it('calls the rule again if there was no result', () => {
    const rule = vi.fn<(text: string) => string | undefined>(() => undefined)
    const memoized = memoize(2, rule)
    for (const text of ['a', 'a']) expect(memoized(text)).toBeUndefined()
    expect(rule).toHaveBeenCalledTimes(2)
  })

  it('keeps no body in memory that a text is a slice of', () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const bodyBytes = 500_000
    const bodies = 40
    const memoized = memoize(1_000, (text) => text.length)
    const cutFrom = (count: number) => `"${String(count).padStart(40, 'k')}"`.padEnd(bodyBytes).slice(1, 41)
    collect()
    const before = process.memoryUsage().heapUsed
    for (let count = 0; count < bodies; count += 1) memoized(cutFrom(count))
    collect()
    expect(process.memoryUsage().heapUsed - before).toBeLessThan((bodies * bodyBytes) / 4)
  })
})
