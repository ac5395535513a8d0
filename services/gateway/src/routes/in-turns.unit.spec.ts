import { describe, expect, it, onTestFinished } from 'vitest'
import { inTurns } from './in-turns.ts'

/** Counts the turns that others had so far. */
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

function spin(forMs: number): void {
  const until = performance.now() + forMs
  while (performance.now() < until);
}

const items = (count: number) => Array.from({ length: count }, (_, index) => index)

describe('many items of one request', () => {
  it('are taken in their order', async () => {
    const results = await inTurns(items(120), (item, position) => `${item} ${position}`)
    expect(results).toEqual(items(120).map((item) => `${item} ${item}`))
  })

  it('let others have their turn after each one that takes long', async () => {
    const turnsOfOthers = givenOthers()
    const seen = await inTurns(items(20), () => {
      spin(1.5)
      return turnsOfOthers()
    })
    expect(new Set(seen).size).toBe(20)
  })

  it('let others have their turn after some that take no time', async () => {
    const turnsOfOthers = givenOthers()
    const seen = await inTurns(items(200), turnsOfOthers)
    expect(new Set(seen).size).toBeGreaterThanOrEqual(4)
  })
})
