import { expect, it } from 'vitest'
import { createSuppressions, firstAfter } from './suppressions.ts'

const since = '2026-11-02T10:00:00.000Z'

/** 1,000 requests, each with 1,000 users. */
const ordered = Array.from({ length: 1_000 }, (_, offset) => {
  const request = { erasureId: `${offset}`, since, offset }
  return Array.from({ length: 1_000 }, (_entry, position) => ({ request, position }))
}).flat()

/** Counts the entries that a search reads. */
function givenCounted() {
  const reads = { count: 0 }
  const counted = new Proxy(ordered, {
    get: (target, member) => {
      if (typeof member === 'string' && /^\d+$/.test(member)) reads.count += 1
      return Reflect.get(target, member) as unknown
    },
  })
  return { counted, reads }
}

it.each([
  ['the first', { offset: 0, position: 0 }, 1],
  ['one in the middle', { offset: 517, position: 3 }, 517_004],
  ['one between two requests', { offset: 517, position: 9_999 }, 518_000],
  ['the last', { offset: 999, position: 999 }, 1_000_000],
  ['one beyond all', { offset: 9_007_199_254_740_991, position: 0 }, 1_000_000],
])('a page after %s of a million suppressions is found after reading 20 of them', (_which, place, index) => {
  const { counted, reads } = givenCounted()
  expect(firstAfter(counted, place)).toBe(index)
  expect(reads.count).toBeLessThanOrEqual(20)
})

it('a page continues behind a user who is no longer suppressed, and a user who is suppressed again comes last', () => {
  const { add, remove, page, size } = createSuppressions()
  const request = { erasureId: 'one', since, offset: 7 }
  for (const [position, userId] of ['ada', 'bob', 'eve'].entries()) add(userId, request, position)
  expect(remove('bob')).toBe(true)
  expect(remove('bob')).toBe(false)
  expect(add('bob', { ...request, offset: 9 }, 0)).toBe(true)
  expect(add('ada', { ...request, offset: 9 }, 1)).toBe(false)
  const userIds = (after?: string, limit = 10) => page(limit, after).suppressions.map(({ userId }) => userId)
  expect(userIds()).toEqual(['ada', 'eve', 'bob'])
  expect(userIds('7-1')).toEqual(['eve', 'bob'])
  expect([page(2, undefined).next, page(3, undefined).next, size()]).toEqual(['7-2', null, 3])
})
