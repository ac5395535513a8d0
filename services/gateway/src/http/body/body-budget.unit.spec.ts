import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BodyPermit, createBodyBudget, KEY_IN_BODY } from './body-budget.ts'

describe('bytes in flight (decisions.md, Busy and broken)', () => {
  it('of one key are at most a quarter of the free ones', () => {
    const open = createBodyBudget({ maxBytes: 1_000, maxUnfinishedPerKey: 100 })
    const permits = Array.from({ length: 11 }, () => open('one', false))
    // 200 bytes are held, and 800 are free.
    expect(permits.filter((permit) => permit?.take(20))).toHaveLength(10)
    permits[0]?.release()
    expect(permits[10]?.take(20)).toBe(true)
  })

  it('are left for a new key, however many keys hold their maximum', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 50 }), (keys, bytes) => {
        const open = createBodyBudget({ maxBytes: 100_000, maxUnfinishedPerKey: 1 })
        let free = 100_000
        for (let key = 0; key < keys; key += 1) {
          const permit = open(`${key}`, true)
          const takes = Array.from({ length: Math.ceil(free / bytes) }, () => permit?.take(bytes))
          free -= bytes * takes.filter((isTaken) => isTaken).length
        }
        expect(free).toBeGreaterThan(100_000 * 0.8 ** keys - bytes * keys)
        expect(open('newcomer', true)?.take(Math.floor(free / 4))).toBe(true)
      }),
    )
  })

  it('are all free again after any sequence of bodies', () => {
    const step = fc.record({
      key: fc.constantFrom('a', 'b', KEY_IN_BODY),
      bytes: fc.integer({ min: 1, max: 400 }),
      isEnd: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const open = createBodyBudget({ maxBytes: 1_000, maxUnfinishedPerKey: 5 })
        const permits: BodyPermit[] = []
        for (const { key, bytes, isEnd } of steps) {
          const permit = open(key, true)
          permit?.take(bytes)
          if (permit) permits.push(permit)
          if (isEnd) permits.shift()?.release()
        }
        for (const permit of permits) permit.release()
        expect(open('a', true)?.take(250)).toBe(true)
      }),
    )
  })
})

describe('unfinished bodies of one key (decisions.md, Busy and broken)', () => {
  it('are limited until one has arrived or its request has ended', () => {
    const open = createBodyBudget({ maxBytes: 1_000, maxUnfinishedPerKey: 2 })
    const [one, two] = [open('key', true), open('key', true)]
    expect(open('key', true)).toBeUndefined()
    expect(open('key', false)).toBeDefined()
    expect(open('other', true)).toBeDefined()
    one?.finish()
    one?.release()
    expect(open('key', true)).toBeDefined()
    expect(open('key', true)).toBeUndefined()
    two?.release()
    expect(open('key', true)).toBeDefined()
  })
})

describe('bodies whose key is still unknown (decisions.md, Slow and large)', () => {
  it('share the part of one key, in which the oldest unfinished one makes room', () => {
    const open = createBodyBudget({ maxBytes: 1_000, maxUnfinishedPerKey: 100 })
    const stranger = (bytes: number) => {
      const permit = open(KEY_IN_BODY, true)
      const seen = { permit, isDisplaced: false, isTaken: false }
      permit?.onDisplaced(() => (seen.isDisplaced = true))
      seen.isTaken = permit?.take(bytes) ?? false
      return seen
    }
    const [one, two, three] = [stranger(100), stranger(100), stranger(100)]
    expect([one.isDisplaced, two.isDisplaced, three.isTaken]).toEqual([true, false, true])
    expect(one.permit?.take(1)).toBe(false)
    // Alone, it gets no more than the share.
    expect(stranger(251).isTaken).toBe(false)
    expect(open('key', true)?.take(250)).toBe(true)
  })

  it('never displace one that has arrived', () => {
    const open = createBodyBudget({ maxBytes: 1_000, maxUnfinishedPerKey: 100 })
    const arrived = open(KEY_IN_BODY, true)
    arrived?.take(190)
    arrived?.finish()
    const next = open(KEY_IN_BODY, true)
    expect(next?.take(100)).toBe(false)
    arrived?.release()
    expect(next?.take(100)).toBe(true)
  })

  it('move to their key once it is known, if it has room', () => {
    const open = createBodyBudget({ maxBytes: 1_000, maxUnfinishedPerKey: 100 })
    const held = open('key', false)
    held?.take(100)
    const one = open(KEY_IN_BODY, false)
    one?.take(80)
    expect(one?.moveTo('key')).toBe(true)
    const two = open(KEY_IN_BODY, false)
    expect([two?.take(120), two?.moveTo('key')]).toEqual([true, false])
    for (const permit of [held, one, two]) permit?.release()
    expect(open('key', false)?.take(250)).toBe(true)
  })

  it('may always begin: the oldest makes room', () => {
    const open = createBodyBudget({ maxBytes: 1_000, maxUnfinishedPerKey: 2 })
    const permits = [open(KEY_IN_BODY, true), open(KEY_IN_BODY, true), open(KEY_IN_BODY, true)]
    expect(permits.map((permit) => permit?.take(1))).toEqual([false, true, true])
  })
})
