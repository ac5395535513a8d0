import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseIdentifyBody } from './identify-body.ts'
import { BODY_RULES } from './body-rules.ts'
import { parseTrackBody } from './track-body.ts'
import { redactMessage } from './redact-message.ts'

const SECRET = 'zqzq'
const kept = (parsed: { readonly outcome: string }) =>
  parsed.outcome === 'rejected' ? redactMessage(parsed as unknown as { message: string }) : ''

describe('a redacted message (decisions.md, Refusals)', () => {
  it.each([
    [{ userAttributes: { $increment: { zqzq: 'x' } } }, 'userAttributes.$increment.… must be a finite number'],
    [{ userAttributes: { $set: { 'plan.zqzq': {} } } }, 'userAttributes.$set.… must be a string, a finite number'],
    [{ userAttributes: { zqzq: 1 } }, 'userAttributes.… is not an operator'],
    [{ $deviceInfo: { $deviceOs: 'zqzq' } }, '$deviceInfo.$deviceOs must be one of'],
    [{ userName: 1 }, 'userName must be a string that is not empty'],
  ])('%j', (body, message) => {
    expect(kept(parseIdentifyBody({ userName: 'ada', ...body }))).toContain(message)
  })

  it('names the position of an item, and nothing else that resembles one', () => {
    expect(redactMessage(BODY_RULES.itemType('items[3].type'))).toBe('items[3].type must be identify or track')
    expect(redactMessage(BODY_RULES.finiteNumber('properties.items[3].a'))).toBe('properties.… must be a finite number')
  })

  it('contains no word of any body', () => {
    const word = fc.constantFrom(SECRET, `${SECRET}.type`, `$${SECRET}`, SECRET.repeat(60), `items[3].${SECRET}`)
    const value = fc.oneof(word, fc.constant(Infinity), fc.dictionary(word, fc.anything()), fc.array(fc.array(word)))
    const operators = fc.oneof(word, fc.constantFrom('$set', '$setOnce', '$increment', '$decrement', '$unset'))
    const members = fc.dictionary(operators, fc.oneof(value, fc.dictionary(word, value)))
    fc.assert(
      fc.property(value, members, (userName, given) => {
        const identify = kept(parseIdentifyBody({ userName, userAttributes: given, $deviceInfo: given }))
        const known = kept(parseIdentifyBody({ userName: 'ada', userAttributes: given, $deviceInfo: given }))
        const track = kept(
          parseTrackBody({ userName: 'ada', eventName: 'a', occurredAt: userName, properties: given }, 0),
        )
        expect(`${identify}${known}${track}`).not.toContain(SECRET)
      }),
    )
  })
})
