import { BODY_LIMITS } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { traitsOf } from './segment-com-traits.ts'

const read = (traits: object) => traitsOf(traits, { allowedFields: new Set() })
const members = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, value]))

describe('traits of a hostile caller', () => {
  it('are left out with everything in them where a name is too long: nothing in it is looked at', () => {
    expect(read({ ['k'.repeat(16_000)]: members(1_000, {}) })).toEqual({ $set: {}, dropped: 1 })
  })

  it('are left out further down, where names have grown too long', () => {
    const long = 'k'.repeat(60)
    expect(read({ [long]: { [long]: members(10, 1), ok: 1 } })).toEqual({ $set: { [`${long}.ok`]: 1 }, dropped: 1 })
  })

  it('are read as far as is enough to refuse them, where there are too many', () => {
    const { $set } = read({ deep: members(30_000, 1), more: members(30_000, 1) })
    expect(Object.keys($set)).toHaveLength(BODY_LIMITS.traitOperations + 1)
  })
})
