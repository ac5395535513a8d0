import { describe, expect, it } from 'vitest'
import type { Answer, QuestionElement } from '@nextvisit/contracts/shown-form'
import { faultOf, invalidity, limitOf } from './faults.ts'
import { wordsIn } from './words.ts'

const words = wordsIn('en')
const options = [
  { id: 'a', label: 'A' },
  { id: 'b', label: 'B' },
]
const nps: QuestionElement = { id: 'nps', type: 'nps', required: true }
const text: QuestionElement = { id: 'text', type: 'text', maxLength: 3 }
const choice: QuestionElement = { id: 'choice', type: 'choice', options, other: true }
const choices: QuestionElement = { id: 'choices', type: 'choices', options, other: true, atLeast: 2, atMost: 2 }
const consent: QuestionElement = { id: 'consent', type: 'consent', label: 'Yes', required: true }

type Row = readonly [what: string, element: QuestionElement, answer: Answer | undefined, message: string | undefined]

describe('the message of a finished form', () => {
  it.each<Row>([
    ['a required answer that is missing', nps, undefined, words.missing],
    ['a required answer of 0', nps, 0, undefined],
    ['an optional answer that is missing', text, undefined, undefined],
    ['a text of the maximum length', text, '🚀🚀🚀', undefined],
    ['a longer text', text, '🚀🚀🚀🚀', 'Use at most 3 characters.'],
    ['a chosen option', choice, 'a', undefined],
    ['a text of the user', choice, { other: 'C' }, undefined],
    ['an empty text of the user', choice, { other: ' ' }, words.missing],
    ['the longest text of the user', choice, { other: '🚀'.repeat(1_000) }, undefined],
    ['a longer text of the user', choice, { other: '🚀'.repeat(1_001) }, 'Use at most 1000 characters.'],
    ['too few choices', choices, ['a'], 'Choose at least 2.'],
    ['no choices at all', choices, undefined, 'Choose at least 2.'],
    ['enough choices', choices, ['a', { other: 'C' }], undefined],
    ['too many choices', choices, ['a', 'b', { other: 'C' }], 'Choose at most 2.'],
    ['an empty text among choices', choices, ['a', { other: '' }], words.missing],
    ['a required consent that is not answered', consent, undefined, words.missing],
    ['a required consent that is refused', consent, false, undefined],
    ['a required consent that is given', consent, true, undefined],
  ])('for %s', (_what, element, answer, message) => {
    expect(faultOf(element, answer, words)).toBe(message)
  })
})

describe('the message before the end', () => {
  it('is only for answers that are invalid at any time', () => {
    expect(invalidity(nps, undefined, words)).toBe(undefined)
    expect(invalidity(choices, ['a'], words)).toBe(undefined)
    expect(invalidity(choices, ['a', 'b', { other: 'C' }], words)).toBe('Choose at most 2.')
    expect(invalidity(text, 'abcd', words)).toBe('Use at most 3 characters.')
  })
})

describe('the limit of choices', () => {
  it.each([
    [{}, undefined],
    [{ atLeast: 0 }, undefined],
    [{ atLeast: 2 }, 'Choose at least 2.'],
    [{ atMost: 2 }, 'Choose at most 2.'],
    [{ atLeast: 0, atMost: 2 }, 'Choose at most 2.'],
    [{ atLeast: 1, atMost: 2 }, 'Choose 1 to 2.'],
    [{ atLeast: 2, atMost: 2 }, 'Choose exactly 2.'],
  ])('%o is %s', (limits, shown) => {
    expect(limitOf({ id: 'uses', type: 'choices', options, ...limits }, words)).toBe(shown)
  })

  it('of one choice has no text', () => {
    expect(limitOf({ id: 'plan', type: 'choice', options }, words)).toBe(undefined)
  })
})
