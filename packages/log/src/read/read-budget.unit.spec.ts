import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createByteBudget, shareOf } from './read-budget.ts'

const MIB = 1024 * 1024
const never = new AbortController().signal

describe('a byte budget', () => {
  it('grants bytes in the order of the calls, as others give them back', async () => {
    const budget = createByteBudget(10)
    const granted: string[] = []
    const take = (name: string, bytes: number): Promise<() => void> =>
      budget.take(bytes, never).then((giveBack) => {
        granted.push(name)
        return giveBack
      })
    const [first, second] = [await take('first', 6), take('second', 6)]
    // It would fit, but came later.
    const third = take('third', 2)
    await setImmediate()
    expect(granted).toEqual(['first'])
    first()
    first() // counts once
    await Promise.all([second, third])
    expect(granted).toEqual(['first', 'second', 'third'])
    expect(budget.takeIfFree(3)).toBeUndefined()
    expect(budget.takeIfFree(2)).toBeDefined()
  })

  it('grants nothing out of turn while somebody waits', async () => {
    const budget = createByteBudget(10)
    const giveBack = budget.takeIfFree(6)
    const waiting = budget.take(6, never)
    expect(budget.takeIfFree(1)).toBeUndefined()
    giveBack?.()
    await waiting
    expect(budget.takeIfFree(4)).toBeDefined()
  })

  it('forgets who gives up, and grants the next', async () => {
    const budget = createByteBudget(10)
    budget.takeIfFree(6)
    const leaving = new AbortController()
    const gone = budget.take(6, leaving.signal)
    const next = budget.take(4, never)
    leaving.abort(new Error('gone'))
    await expect(gone).rejects.toThrow('gone')
    await next
    await expect(budget.take(1, leaving.signal)).rejects.toThrow('gone')
  })
})

describe('the share of a partition', () => {
  it('is a batch of the usual size for a few partitions, and adds up to the budget for many', () => {
    expect(shareOf(12, 1_000)).toEqual({ maxRecords: 1_000, maxBytes: 2 * MIB })
    for (const partitions of [20, 100, 5_000]) {
      const { maxRecords, maxBytes } = shareOf(partitions, 1_000)
      expect(partitions * maxBytes).toBeLessThanOrEqual(32 * MIB)
      expect(partitions * maxRecords).toBeLessThanOrEqual(24_000)
    }
    expect(shareOf(1_000_000, 1_000).maxRecords).toBe(1)
  })
})
