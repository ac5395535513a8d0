import { IdentifyUserBody, TrackEventBody } from '@nextvisit/contracts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseIdentifyBody } from './identify-body.ts'
import { parseTrackBody } from './track-body.ts'

const word = fc.oneof(fc.string({ maxLength: 3 }), fc.constantFrom('a'.repeat(100), 'a'.repeat(101), '😀'.repeat(100)))
const scalar = fc.oneof(
  word,
  fc.constantFrom('a'.repeat(500), 'a'.repeat(501)),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
)
const operand = fc.oneof(scalar, fc.array(scalar, { maxLength: 2 }), fc.object({ maxDepth: 1 }))
const operands = fc.oneof(
  { weight: 9, arbitrary: fc.dictionary(word, operand, { maxKeys: 2, noNullPrototype: true }) },
  { weight: 1, arbitrary: scalar },
)
const unset = fc.oneof({ weight: 9, arbitrary: fc.array(word, { maxLength: 2 }) }, { weight: 1, arbitrary: scalar })
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
/** `z.record` drops this key in silence; ours keeps it, which other tests pin. */
const isComparable = (body: unknown) => !JSON.stringify(body).includes('__proto__')

describe('the documented schemas of bodies', () => {
  it('take and refuse the same identify bodies as the rules', () => {
    const attributes = fc.record(
      { $set: operands, $setOnce: operands, $increment: operands, $decrement: operands, $unset: unset },
      { requiredKeys: [] },
    )
    const device = fc.record(
      {
        $app: scalar,
        $deviceOs: fc.constantFrom('iOS', 'ios', null),
        $preferredTheme: fc.constantFrom('dark', 'x', 1),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(
        optional(attributes),
        optional(device),
        optional(scalar),
        (userAttributes, $deviceInfo, userSignature) => {
          const body = JSON.parse(JSON.stringify({ userName: 'ada', userAttributes, $deviceInfo, userSignature }))
          fc.pre(isComparable(body))
          expect(parseIdentifyBody(body).outcome === 'ok').toBe(IdentifyUserBody.safeParse(body).success)
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it.each([250, 251])('take and refuse the same number of operations: %i', (count) => {
    const $set = Object.fromEntries(Array.from({ length: count - 2 }, (_, index) => [`trait ${index}`, index]))
    const body = { userName: 'ada', userAttributes: { $set, $increment: { logins: 1 }, $unset: ['plan'] } }
    expect(parseIdentifyBody(body).outcome === 'ok').toBe(count === 250)
    expect(IdentifyUserBody.safeParse(body).success).toBe(count === 250)
  })

  it('take and refuse the same tracked events, except for limits on bytes and levels', () => {
    const name = fc.oneof(
      fc.constantFrom('a', '', 'a'.repeat(100), 'a'.repeat(101), 'a'.repeat(255), 'a'.repeat(256)),
      fc.integer(),
    )
    // Bytes and levels are what only rules can say.
    const text = fc.oneof(scalar, fc.constantFrom('a'.repeat(2_048), 'a'.repeat(2_049)))
    const members = fc.dictionary(word, fc.oneof(text, fc.array(text, { maxLength: 2 })), { maxKeys: 2 })
    const properties = fc.oneof(members, fc.dictionary(word, members, { maxKeys: 2 }), text)
    fc.assert(
      fc.property(optional(name), optional(name), optional(properties), (userName, eventName, given) => {
        const body = JSON.parse(JSON.stringify({ userName, eventName, properties: given }))
        fc.pre(isComparable(body))
        expect(parseTrackBody(body, 0).outcome === 'ok').toBe(TrackEventBody.safeParse(body).success)
      }),
    )
  })
})
