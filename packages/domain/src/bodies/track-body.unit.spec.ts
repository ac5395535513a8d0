import { describe, expect, it } from 'vitest'
import { parseTrackBody } from './track-body.ts'

const RECEIVED = Date.parse('2026-11-02T10:00:00.000Z')
const parse = (body: object) =>
  parseTrackBody(JSON.parse(JSON.stringify({ userName: 'ada', eventName: 'Checkout', ...body })), RECEIVED)
const rejected = (text: string) => ({ outcome: 'rejected', message: expect.stringContaining(text) })

describe('the body of a tracked event (contract, Track event)', () => {
  it.each([undefined, null, '', ' ', 1, {}, 'a'.repeat(256)])('is refused without a valid userName: %j', (userName) => {
    expect(parse({ userName })).toMatchObject(rejected('userName'))
  })

  it.each(['a'.repeat(255), '😀'.repeat(255), ' Ada '])('keeps the userName as given: %s', (userName) => {
    expect(parse({ userName })).toMatchObject({ outcome: 'ok', value: { userName } })
  })

  it.each([undefined, null, '', 1, [], 'a'.repeat(101), ' '.repeat(100) + 'a'])(
    'missing or invalid eventName: 400',
    (eventName) => {
      expect(parse({ eventName })).toMatchObject(rejected('eventName'))
    },
  )

  it('may have a userSignature, which is a string', () => {
    expect(parse({ userSignature: 'ab' })).toMatchObject({ outcome: 'ok', value: { userSignature: 'ab' } })
    expect(parse({ userSignature: null })).toMatchObject({ outcome: 'ok', value: { userSignature: undefined } })
    expect(parse({ userSignature: 1 })).toMatchObject(rejected('userSignature'))
  })

  it('may have properties, which are an object', () => {
    const properties = { total: 120.5, items: [{ sku: 'A-1' }] }
    expect(parse({ properties })).toMatchObject({ outcome: 'ok', value: { properties } })
    expect(parse({ properties: null })).toMatchObject({ outcome: 'ok', value: { properties: undefined } })
    expect(parse({ properties: [1] })).toMatchObject(rejected('properties'))
    expect(parse({ properties: { items: [{ name: 'a'.repeat(2_049) }] } })).toMatchObject(
      rejected('properties.items[0].name'),
    )
  })

  it.each(['---', '🎉', '   ', '_'])('is refused if its name has an empty slug: %j', (eventName) => {
    expect(parse({ eventName })).toMatchObject(rejected('letter or digit'))
  })

  it.each(['form:shown', ' FORM:x', 'Form:'])('is refused if it names a system event: %j', (eventName) => {
    expect(parse({ eventName })).toMatchObject(rejected('form:'))
  })

  it.each(['a', '1', 'a'.repeat(100), '😀'.repeat(99) + 'a', '__proto__'])('may have the name %j', (eventName) => {
    expect(parse({ eventName })).toMatchObject({ outcome: 'ok', value: { eventName } })
  })

  it.each([undefined, null])('has by default its time of receipt as occurredAt', (occurredAt) => {
    const value = { occurredAt: '2026-11-02T10:00:00.000Z', evaluateTriggers: true }
    expect(parse({ occurredAt })).toMatchObject({ outcome: 'ok', value })
  })

  it.each([1, '', 'yesterday', '2026-11-02', '2027-11-02T10:00:00Z', '2025-11-02T09:59:59.999Z'])(
    'invalid occurredAt: 400 (%j)',
    (occurredAt) => {
      expect(parse({ occurredAt })).toMatchObject(rejected('occurredAt'))
    },
  )

  it('may have unknown members, which are ignored (decisions.md, Order of checks)', () => {
    expect(parse({ other: { deep: [1] } })).toMatchObject({ outcome: 'ok' })
  })
})
