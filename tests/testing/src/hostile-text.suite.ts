import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

type Hostile = readonly [prefix: string, unit: string, suffix: string]

/** A caller's text in a request: its reader, the start of a valid text, and texts that are always tried. */
interface CallersText {
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

/**
 * Length of the texts. Linear reading of all texts takes a tenth of a second; quadratic reading exceeds the test's time
 * limit.
 */
const LENGTH = 150_000
const GIVE_UP_AFTER_MS = 15_000

function textOf([prefix, repeated, end]: Hostile): string {
  return prefix + repeated.repeat(Math.ceil(LENGTH / repeated.length)) + end
}

/** Tests by name that each reader handles hostile texts in linear time. */
export function describeHostileTexts(parts: Readonly<Record<string, CallersText>>): void {
  describe.each(Object.entries(parts))('%s with a long hostile text', (_name, { read, begins, try: known = [] }) => {
    it('is read in linear time', () => {
      const hostile = fc.tuple(fc.constantFrom(...begins), unit, suffix)
      const property = fc.property(hostile, (text) => void read(textOf(text)))
      const examples = known.map((text): [Hostile] => [text])
      const outcome = fc.check(property, { numRuns: 60, interruptAfterTimeLimit: GIVE_UP_AFTER_MS, examples })
      expect(outcome).toMatchObject({ failed: false, interrupted: false })
    })
  })
}
