import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { parseWithin } from './parse-within.ts'

const Texts = z.array(z.array(z.string()))
const Chain: z.ZodType = z.lazy(() => z.object({ next: Chain.optional() }))

function chainOf(levels: number): object {
  let chain = {}
  for (let level = 1; level < levels; level += 1) chain = { next: chain }
  return chain
}

const numbers = (length: number) => [Array.from({ length }, () => 1)]
const oneIssue = (message: string) => ({ success: false, issues: [{ code: 'custom', path: [], message }] })

describe('parsing within limits', () => {
  it('reports every issue up to the limit', () => {
    expect(parseWithin(Texts, numbers(3), 3)).toMatchObject({ issues: [{ path: [0, 0] }, { path: [0, 1] }, {}] })
  })

  it.each([
    ['more issues than the limit', 4, 3],
    ['more issues than the stack takes', 150_000, Infinity],
  ])('reports one issue for %s', (_, length, maxIssues) => {
    expect(parseWithin(Texts, numbers(length), maxIssues)).toEqual(oneIssue('has too many faults'))
  })

  it('names the levels if they overflow the stack', () => {
    expect(parseWithin(Chain, chainOf(100))).toMatchObject({ success: true })
    expect(parseWithin(Chain, chainOf(50_000))).toEqual(oneIssue('is nested deeper than 64 levels'))
  })

  it('throws the RangeError of a schema, which is a bug', () => {
    const Broken = z.unknown().refine(() => 'x'.repeat(-1))
    expect(() => parseWithin(Broken, 1)).toThrow(RangeError)
  })
})
