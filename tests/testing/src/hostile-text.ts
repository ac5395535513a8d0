import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

type Hostile = readonly [prefix: string, unit: string, suffix: string]

/** A part of a request that a caller writes: what reads it, how a good one begins, and texts to try in any case. */
export interface CallersText {
  readonly read: (text: string) => unknown
  readonly begins: readonly string[]
  readonly try?: readonly Hostile[]
}

const unit = fc.oneof(
  fc.constantFrom(
    ' ',
    '\t',
    ';',
    ',',
    '"',
    '\\',
    '[',
    '{',
    '%',
    '0',
    'a',
    '-',
    '_',
    '.',
    ':',
    '=',
    '&',
    '\u0300',
    '😀',
  ),
  fc.string({ minLength: 1, maxLength: 3 }),
)
const suffix = fc.constantFrom('', 'x', '"', '!', 'Z', '}')

/** All texts of a part together are read in a tenth of a second. What grows with the square takes longer than a test may. */
const LENGTH = 150_000
const GIVE_UP_AFTER_MS = 15_000

function textOf([prefix, repeated, end]: Hostile): string {
  return prefix + repeated.repeat(Math.ceil(LENGTH / repeated.length)) + end
}

/** Each part, by its name, is read in time however its caller has written it. */
export function describeHostileTexts(parts: Readonly<Record<string, CallersText>>): void {
  describe.each(Object.entries(parts))(
    '%s, as long and as hostile as may be',
    (_name, { read, begins, try: known = [] }) => {
      it('is read in proportion to its length, so that a far too long one is read at all', () => {
        const hostile = fc.tuple(fc.constantFrom(...begins), unit, suffix)
        const property = fc.property(hostile, (text) => void read(textOf(text)))
        const examples = known.map((text): [Hostile] => [text])
        const outcome = fc.check(property, { numRuns: 60, interruptAfterTimeLimit: GIVE_UP_AFTER_MS, examples })
        expect(outcome).toMatchObject({ failed: false, interrupted: false })
      })
    },
  )
}
