import { describe, expect, it, onTestFinished } from 'vitest'
import { yieldBetween } from './yield-between.ts'

/** Counts the turns of other work. */
function givenOthers(): () => number {
  let turns = 0
  const count = () => {
    turns += 1
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  onTestFinished(() => clearImmediate(next))
  return () => turns
}

/** Returns the number of turns that the items take. */
async function turnsOf(items: readonly unknown[]): Promise<number> {
  return new Set(await yieldBetween(items, givenOthers())).size
}

describe('the items of one request', () => {
  it('are handled in their order', async () => {
    const items = Array.from({ length: 120 }, (_, index) => index)
    const results = await yieldBetween(items, (item, position) => `${item} ${position}`)
    expect(results).toEqual(items.map((item) => `${item} ${item}`))
  })

  it('let other requests run after each 50', async () => {
    expect(await turnsOf(Array.from({ length: 200 }, () => ({ type: 'track' })))).toBe(4)
  })

  it.each<[string, unknown]>([
    ['text', 'x'.repeat(32_000)],
    ['names', Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`name ${index}`, {}]))],
    ['values', { list: Array.from({ length: 3_000 }, () => 1) }],
  ])('let other requests run after each large one: %s', async (_by, properties) => {
    expect(await turnsOf(Array.from({ length: 15 }, () => ({ type: 'track', properties })))).toBe(15)
  })

  it('may be nested as deeply as a body allows', async () => {
    let deep: object = {}
    for (let level = 0; level < 100_000; level += 1) deep = { deep }
    expect(await turnsOf([deep, deep])).toBe(1)
  })
})
