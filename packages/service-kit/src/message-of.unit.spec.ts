import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { messageOf } from './message-of.ts'

const CANARY = 'canary'

/** Returns the error that `run` throws. */
function thrownBy(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

const anything = (value: unknown) => value as never

describe('the message of an error, for logs and operators', () => {
  it.each<[string, string, () => unknown]>([
    ['Syntax error', 'JSON', () => JSON.parse(CANARY)],
    ['Syntax error', 'a BigInt of a text', () => BigInt(CANARY)],
    ['Cannot read properties of undefined (…)', 'a missing member', () => anything({})[CANARY][CANARY]],
    ["Cannot use '…' operator to search for …", 'a member of a text', () => 'plan' in anything(CANARY)],
    ['Invalid time zone specified: …', 'a time zone', () => new Intl.DateTimeFormat('en', { timeZone: CANARY })],
    ['The number … cannot be converted', 'a number', () => BigInt(4711.25)],
    ['[', 'a schema', () => z.strictObject({ a: z.string() }).parse({ [CANARY]: CANARY })],
  ])('is %j… for %s, without the value', (begin, _of, run) => {
    const message = messageOf(thrownBy(run))
    expect(message.slice(0, begin.length)).toBe(begin)
    expect(message).not.toMatch(/canary|4711/)
  })

  it.each([
    ['invalid input syntax for type integer: "canary"', 'invalid input syntax for type integer: "…"'],
    ['invalid input syntax for type json: "a"canary"', 'invalid input syntax for type json: "…"'],
    ['Raw query failed. Code: `23505`. Message: `Key (user_name)=(canary) already exists.`', 'Code: `23505`'],
    ['Failing row contains (1, canary, (2)).', 'Failing row contains (…).'],
    ["ERR unknown command 'x', with args beginning with: 'canary'", "ERR unknown command '…'"],
    ["Can't reach database server at `127.0.0.1:5432`", "Can't reach database server at `127.0.0.1:5432`"],
  ])('of %j hides the quoted value', (message, expected) => {
    const shown = messageOf(new Error(message))
    expect(shown).toContain(expected)
    expect(shown).not.toContain(CANARY)
  })

  it('never contains a quoted value, whatever the value is', () => {
    const value = fc.tuple(fc.string(), fc.string()).map(([one, other]) => `${one}canary${other}`)
    const quoted = fc.constantFrom<(text: string) => string>(
      (text) => `invalid: "${text}" at 3`,
      (text) => `unknown property '${text}' of it`,
      (text) => `Key (name)=(${text}) exists`,
    )
    fc.assert(
      fc.property(value, quoted, (text, quote) => {
        expect(messageOf(new Error(quote(text)))).not.toContain(CANARY)
      }),
    )
  })

  it('is that of an error of ours, and of a system call, without a change', () => {
    const own = Object.assign(new Error('user-events has 3 partitions, not "6" (see docs)'), { retryable: false })
    expect(messageOf(own)).toBe(own.message)
    const ofSystem = Object.assign(new Error("connect ECONNREFUSED '127.0.0.1:1'"), { syscall: 'connect' })
    expect(messageOf(ofSystem)).toBe(ofSystem.message)
  })

  it('is only the type of a thrown value that is no error', () => {
    expect(messageOf(CANARY)).toBe('string')
  })
})
