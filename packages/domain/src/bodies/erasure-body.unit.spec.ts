import { ErasureBody } from '@nextvisit/contracts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseErasureBody } from './erasure-body.ts'
import { redactMessage } from './redact-message.ts'

const names = (count: number) => Array.from({ length: count }, (_, nth) => `user ${nth}`)

describe('the body of an erasure', () => {
  it.each([
    [{ userNames: ['ada'] }, { userNames: ['ada'], suppress: false }],
    [
      { userNames: ['ada'], suppress: null },
      { userNames: ['ada'], suppress: false },
    ],
    [
      { userNames: ['ada', 'ada', ' Ada '], suppress: true, other: 1 },
      { userNames: ['ada', 'ada', ' Ada '], suppress: true },
    ],
    [{ userNames: names(1_000) }, { userNames: names(1_000), suppress: false }],
  ])('is read: %j', (body, value) => {
    expect(parseErasureBody(body)).toEqual({ outcome: 'ok', value })
  })

  it.each([
    [{}, 'userNames must be an array of 1 to 1000 userNames'],
    [{ userNames: 'ada' }, 'userNames must be an array'],
    [{ userNames: [] }, 'userNames must be an array of 1'],
    [{ userNames: names(1_001) }, 'userNames must be an array of 1 to 1000'],
    [{ userNames: ['ada', ''] }, 'userNames[1] must be a string that is not empty'],
    [{ userNames: ['ada', ' '] }, 'userNames[1] must be'],
    [{ userNames: ['ada', 7] }, 'userNames[1] must be'],
    [{ userNames: [null] }, 'userNames[0] must be'],
    [
      { userNames: [...names(999), 'a'.repeat(256)] },
      'userNames[999] must be a string that is not empty, of at most 255',
    ],
    [{ userNames: ['ada'], suppress: 'yes' }, 'suppress must be true or false'],
    [{ userNames: ['ada', ''], suppress: 1 }, 'userNames[1]'],
  ])('is refused: %j', (body, message) => {
    const parsed = parseErasureBody(body)
    expect(parsed).toMatchObject({ outcome: 'rejected', message: expect.stringContaining(message) })
    // The list of refusals keeps the position, which is no word of the caller.
    expect(parsed.outcome === 'rejected' && redactMessage(parsed)).toContain(message)
  })

  it('is taken and refused as documented', () => {
    const name = fc.oneof(fc.string({ maxLength: 3 }), fc.constantFrom('ada', ' ', 'x'.repeat(256)), fc.integer())
    const body = fc.record(
      { userNames: fc.oneof(fc.array(name, { maxLength: 4 }), name), suppress: fc.oneof(fc.boolean(), fc.anything()) },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(body, (given) => {
        expect(parseErasureBody(given).outcome === 'ok').toBe(ErasureBody.safeParse(given).success)
      }),
    )
  })
})
