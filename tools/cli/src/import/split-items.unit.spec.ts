import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splitItems } from './split-items.ts'

async function itemsOf(
  text: string,
  sizes: readonly number[] = [7],
  maxBytes = 1_000_000,
): Promise<[number, string][]> {
  const bytes = Buffer.from(text)
  async function* chunks() {
    for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
      const size = sizes[turn % sizes.length] ?? 1
      yield bytes.subarray(at, at + size)
      at += size
    }
  }
  const items: [number, string][] = []
  for await (const item of splitItems('file.json', chunks(), maxBytes))
    items.push([items.length + 1, item.toString('utf8').trim()])
  return items
}

describe('the items of a JSON array', () => {
  it('are those of JSON.parse, however the file is formatted and read', async () => {
    const items = fc.array(fc.jsonValue())
    await fc.assert(
      fc.asyncProperty(
        items,
        fc.constantFrom(0, 2),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        async (wanted, indent, sizes) => {
          const found = await itemsOf(JSON.stringify(wanted, null, indent), sizes)
          expect(found.map(([, text]) => JSON.parse(text) as unknown)).toEqual(JSON.parse(JSON.stringify(wanted)))
          expect(found.map(([number]) => number)).toEqual(wanted.map((_, index) => index + 1))
        },
      ),
      { numRuns: 200 },
    )
  })

  it('may be in several arrays, after a byte order mark', async () => {
    expect(await itemsOf('\uFEFF[1, {"a": [2]}]\n[]\n["]", 3]\n')).toEqual([
      [1, '1'],
      [2, '{"a": [2]}'],
      [3, '"]"'],
      [4, '3'],
    ])
  })

  it('keep only enough of a long item to know that it is too long', async () => {
    expect(await itemsOf(`["${'x'.repeat(100)}", 2]`, [7], 10)).toEqual([
      [1, `"${'x'.repeat(10)}`],
      [2, '2'],
    ])
  })

  it('end with a remedy if the file is truncated, or is no array in part', async () => {
    await expect(itemsOf('[{"a":1},{"b"')).rejects.toThrow('file.json ends within its JSON array')
    await expect(itemsOf('[{"a":1}]\n{"b":2}')).rejects.toThrow('something else follows its item 1')
  })
})
