import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { identifyRequested } from '../../test/fixtures.ts'
import { UserReadModel } from '../public/user-read-model.ts'
import { openFact } from './record-codec.ts'
import { isTraitValue, TraitOperations, TraitValue } from './traits.ts'
import { type SealedUserFact, UserFact } from './records.ts'
import { sealMembers } from './sealed-members.ts'

describe('a trait value', () => {
  it('passes the hand-written check exactly if it passes its schema', () => {
    const scalar = fc.oneof(fc.double(), fc.integer(), fc.string(), fc.boolean(), fc.constantFrom(null, undefined, 1n))
    const value = fc.oneof(scalar, fc.array(scalar), fc.array(fc.array(scalar)), fc.anything())
    fc.assert(
      fc.property(value, (input) => {
        expect(isTraitValue(input)).toBe(TraitValue.safeParse(input).success)
      }),
    )
  })

  it.each([
    ['a nested list', { set: { plan: [['pro']] } }, ['set', 'plan']],
    ['an object', { setOnce: { ok: 1, plan: {} } }, ['setOnce', 'plan']],
    ['text as an amount', { increment: { visits: '1' } }, ['increment', 'visits']],
    ['a list instead of slugs', { set: [1] }, ['set']],
  ])('is refused for %s, with its path', (_name, operations, path) => {
    expect(TraitOperations.safeParse(operations).error?.issues.map((issue) => issue.path)).toEqual([path])
  })

  it('is refused if JSON writes a number that is not finite', () => {
    const identify = identifyRequested({ operations: { set: { plan: 0.5 } } })
    const inLog = sealMembers(identify, (text) => ({ key: identify.id, bytes: text })) as SealedUserFact
    expect(openFact(inLog, (text) => text.replace('0.5', '1e999'))).toMatchObject({
      outcome: 'rejected',
      reason: expect.stringMatching(/^operations\.set\.…: /),
    })
  })
})

describe('the maximum number of values, and many times more', () => {
  // One list stands for all slugs: 100 million values in little memory. zod takes more time for them than a test may.
  const list = Array.from({ length: 1_000_000 }, (_, n) => n)
  const values = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`trait_${n}`, list]))

  it('are checked in a record', () => {
    const record = identifyRequested({ operations: { set: values } })
    expect(UserFact.safeParse(record).success).toBe(true)
  })

  it('are checked in the answer of a read', () => {
    const { userId, userName, received } = identifyRequested()
    const seen = { firstSeenAt: received, lastSeenAt: received }
    const user = { userId, userName, traits: values, country: null, device: {}, ...seen, events: {}, segments: [] }
    expect(UserReadModel.safeParse(user).success).toBe(true)
  })
})
