import { Uuid } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { createOrderedIds } from './ordered-ids.ts'

describe('ids of refusals', () => {
  it.each([
    ['within one instant, also after the count has overflowed', () => 1_700_000_000_000],
    ['of a clock that is set back', countdown(1_700_000_000_000)],
  ])('are in the order of their creation %s', (_, now) => {
    const createId = createOrderedIds(now)
    const ids = Array.from({ length: 10_000 }, createId)
    expect(ids.toSorted()).toEqual(ids)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('are UUIDs of version 7 that begin with the time', () => {
    const id = createOrderedIds(() => 0x0190_1234_5678)()
    expect(id).toMatch(/^01901234-5678-7000-[89ab][\da-f]{3}-[\da-f]{12}$/)
    expect(Uuid.safeParse(id).success).toBe(true)
  })
})

function countdown(from: number): () => number {
  let next = from
  return () => next--
}
