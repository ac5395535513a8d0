import type { AnyUserFact } from '@nextvisit/contracts'
import {
  eventTracked,
  formDelivered,
  formExpired,
  formQueued,
  queueErased,
  segmentEntered,
} from '@nextvisit/contracts/fixtures'
import * as fc from 'fast-check'
import { v7 as uuidV7 } from 'uuid'
import { describe, expect, it } from 'vitest'
import { type Fence, isFenced, isFencedKey, keysUntilMsOf, keyTimeMs, newKeyTimeMs } from './fence.ts'

const NOW = Date.parse('2026-11-02T10:00:00.000Z')
const instant = fc.integer({ min: 1, max: 2 ** 47 })
const keyIdAt = (msecs: number) => uuidV7({ msecs })
const sealedBy = (key: string): AnyUserFact => ({ ...eventTracked(), sealed: { key, bytes: '' } })
const fence: Fence = { offset: 10n, keysUntilMs: NOW }

describe('the instant of a key', () => {
  it('is the one it was created for', () => {
    fc.assert(
      fc.property(instant, (ms) => {
        expect(keyTimeMs(keyIdAt(ms))).toBe(ms)
      }),
    )
  })

  it('is old for an id of another version, so every fence covers it', () => {
    expect(keyTimeMs('c16d55ad-d619-5c6c-b2f0-1b4e677fa505')).toBe(0)
  })
})

describe('a fence', () => {
  it.each([
    ['a record before it', 9n, NOW + 1, true],
    ['a record after it, with a later key', 11n, NOW + 1, false],
    ['a record after it, with a key of its last instant', 11n, NOW, true],
    ['a record after it, with an earlier key', 11n, NOW - 5, true],
  ])('decides about %s', (_what, offset, keyMs, isCovered) => {
    expect(isFenced({ offset, fact: sealedBy(keyIdAt(keyMs)) }, fence)).toBe(isCovered)
  })

  it('covers copies of the records of a form by its cause, also if they follow', () => {
    const ofForms = { ...fence, causeOffset: 5n }
    const copies = [formQueued, formDelivered, formExpired].map((fact) => (causeOffset: number) => {
      return isFenced({ offset: 11n, fact: fact({ causeOffset }) }, ofForms)
    })
    for (const isCovered of copies) expect([4, 5].map(isCovered)).toEqual([true, false])
    expect(isFenced({ offset: 11n, fact: queueErased({ causeOffset: 4 }) }, ofForms)).toBe(false)
    expect(isFenced({ offset: 11n, fact: formDelivered() }, ofForms), 'of an earlier version').toBe(false)
  })

  it('covers a record without sealed members by its offset only', () => {
    expect([9n, 10n, 11n].map((offset) => isFenced({ offset, fact: eventTracked() }, fence))).toEqual([
      true,
      false,
      false,
    ])
  })

  it('covers a key that another gateway created at most a minute later by its own clock', () => {
    const keysUntilMs = keysUntilMsOf(NOW)
    expect([NOW + 60_000, NOW + 60_001].map((ms) => isFencedKey(keyIdAt(ms), { keysUntilMs }))).toEqual([true, false])
  })

  it('never covers a key of a gateway that knows it, and a later erasure always does', () => {
    fc.assert(
      fc.property(instant, instant, instant, (firstMs, nowMs, secondMs) => {
        const first = keysUntilMsOf(firstMs)
        const key = keyIdAt(newKeyTimeMs(nowMs, first))
        expect(isFencedKey(key, { keysUntilMs: first })).toBe(false)
        // The clock of a later request may be behind.
        const second = keysUntilMsOf(secondMs, first)
        const ofSecond = newKeyTimeMs(Math.min(nowMs, secondMs), first)
        expect(isFencedKey(keyIdAt(ofSecond), { keysUntilMs: second })).toBe(true)
      }),
    )
  })
})

describe('a fence of form-events', () => {
  it.each([
    ['a change before the erasure that comes after the fence', 11n, 4, true],
    ['a change after the erasure that comes before the fence', 9n, 6, false],
    ['a change before both', 9n, 4, true],
    ['a change after both', 11n, 6, false],
  ])('covers a changed membership by its cause alone: %s', (_what, offset, causeOffset, isCovered) => {
    expect(isFenced({ offset, fact: segmentEntered({ causeOffset }) }, { ...fence, causeOffset: 5n })).toBe(isCovered)
  })

  it('covers a changed membership by its place if the offset of the erasure is unknown', () => {
    expect([9n, 11n].map((offset) => isFenced({ offset, fact: segmentEntered() }, fence))).toEqual([true, false])
  })
})
