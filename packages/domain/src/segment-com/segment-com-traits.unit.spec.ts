import { BODY_LIMITS } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { traitsOf } from './segment-com-traits.ts'

const read = (traits: object) => {
  const found = traitsOf([{ member: 'traits', traits }], { allowedFields: new Set() })
  if (found.outcome === 'rejected') throw new Error(found.message)
  return { $set: found.$set, dropped: found.dropped }
}
const members = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, value]))
const readBoth = (traits: object, others: object) => {
  const sources = [
    { member: 'traits', traits },
    { member: 'context.traits', traits: others },
  ]
  const found = traitsOf(sources, { allowedFields: new Set() })
  return found.outcome === 'ok' && found.$set
}

describe('traits of a hostile caller', () => {
  it('are excluded unread below a name that is too long', () => {
    expect(read({ ['k'.repeat(16_000)]: members(1_000, {}) })).toEqual({ $set: {}, dropped: 1 })
  })

  it('are excluded at the depth where their names become too long', () => {
    const long = 'k'.repeat(60)
    expect(read({ [long]: { [long]: members(10, 1), ok: 1 } })).toEqual({ $set: { [`${long}.ok`]: 1 }, dropped: 1 })
  })

  it('are read until there are too many', () => {
    const { $set } = read({ deep: members(30_000, 1), more: members(30_000, 1) })
    expect(Object.keys($set)).toHaveLength(BODY_LIMITS.traitOperations + 1)
    const sources = [members(250, 1), { more: members(30_000, 1) }].map((traits) => ({ member: 'traits', traits }))
    const both = traitsOf(sources, { allowedFields: new Set() })
    expect(both.outcome === 'ok' && Object.keys(both.$set)).toHaveLength(BODY_LIMITS.traitOperations + 1)
  })
})

describe('traits of two members of a message', () => {
  it.each([
    [{ company: { size: 5 } }, { company: 'x', plan: 'pro' }, { 'company.size': 5, plan: 'pro' }],
    [{ company: { size: { of: 5 } } }, { company: { size: 6 } }, { 'company.size.of': 5 }],
    [{ 'company.size': 5 }, { company: null }, { 'company.size': 5 }],
    [{ company: 'x' }, { company: { size: 5 } }, { company: 'x' }],
    [{ company: 'x' }, { 'company.size': 5, 'company.size.of': 6 }, { company: 'x' }],
  ])('have the shape of the first: %j beside %j', (traits, others, $set) => {
    expect(readBoth(traits, others)).toEqual($set)
  })

  it.each([
    [{ company: { size: 5 } }, { company: { plan: 'pro' } }, { 'company.size': 5, 'company.plan': 'pro' }],
    [
      { company: { size: 5 } },
      { companyname: 'x', 'company size': 1 },
      { 'company.size': 5, companyname: 'x', 'company size': 1 },
    ],
    [{ company: {} }, { company: 'x' }, { company: 'x' }],
  ])('are those of both where they agree: %j and %j', (traits, others, $set) => {
    expect(readBoth(traits, others)).toEqual($set)
  })
})
