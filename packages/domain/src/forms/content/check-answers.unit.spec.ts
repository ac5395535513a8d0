import { type AnswerStatus, type ContentElement, FormContent } from '@nextvisit/contracts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formContents } from '../../../test/form-contents.ts'
import type { JsonObject } from '../../bodies/json-object.ts'
import { redactMessage } from '../../bodies/redact-message.ts'
import { checkAnswers } from './check-answers.ts'

const options = ['monthly', 'yearly', 'never'].map((id) => ({ id, label: id }))
const content = FormContent.parse({
  elements: [
    { id: 'score', type: 'nps', required: true },
    { id: 'reason', type: 'text', maxLength: 10, required: true, showIf: { answer: 'score', atMost: 6 } },
    { id: 'more', type: 'text', showIf: { answer: 'reason', exists: true } },
    { id: 'stars', type: 'rating', scale: 5 },
    { id: 'plan', type: 'choice', options, other: true },
    { id: 'fixed', type: 'choice', options },
    { id: 'uses', type: 'choices', options, other: true, atLeast: 2, atMost: 3, showIf: { answer: 'stars', is: 5 } },
    { id: 'contact', type: 'consent', label: 'May we call?' },
    { id: 'docs', type: 'link', label: 'Read more', url: 'https://example.com' },
    { id: 'yearly', type: 'consent', label: 'Renew?', showIf: { answer: 'plan', is: 'yearly' } },
    {
      id: 'own',
      type: 'text',
      showIf: {
        all: [
          { answer: 'plan', exists: true },
          { answer: 'plan', isNot: 'never' },
        ],
      },
    },
    { id: 'both', type: 'text', showIf: { answer: 'uses', contains: 'never' } },
  ],
})

/** Returns the accepted answers, or the message of the rejection. */
function check(answers: object, status: AnswerStatus = 'partial') {
  const checked = checkAnswers(content, { answers: JSON.parse(JSON.stringify(answers)), status })
  return checked.outcome === 'ok' ? checked.answers : checked.message
}

describe('an answer', () => {
  it.each<[object]>([
    [{ score: 0 }],
    [{ score: 10 }],
    [{ stars: 1 }],
    [{ stars: 5 }],
    [{ score: 6, reason: '' }],
    [{ score: 6, reason: '👩‍👩‍👧😀😀😀😀😀' }],
    [{ score: 6, reason: '<script>' }],
    [{ plan: 'monthly' }],
    [{ plan: { other: 'weekly' } }],
    [{ plan: { other: '😀'.repeat(1_000) } }],
    [{ stars: 5, uses: [] }],
    [{ stars: 5, uses: ['never', { other: 'music' }, 'monthly'] }],
    [{ contact: false }],
    [{ contact: true }],
    [{}],
  ])('is accepted: %j', (answers) => {
    expect(check(answers)).toEqual(answers)
  })

  it('may be null, which is none', () => {
    expect(check({ score: null, stars: 3 })).toEqual({ stars: 3 })
  })

  it.each<[object, string]>([
    [{ score: 11 }, 'answers.score must be a whole number from 0 to 10'],
    [{ score: -1 }, 'answers.score must be a whole number from 0 to 10'],
    [{ score: 6.5 }, 'answers.score must be a whole number from 0 to 10'],
    [{ score: '9' }, 'answers.score must be a whole number from 0 to 10'],
    [{ score: [9] }, 'answers.score must be a whole number from 0 to 10'],
    [{ stars: 0 }, 'answers.stars must be a whole number from 1 to 5'],
    [{ stars: 6 }, 'answers.stars must be a whole number from 1 to 5'],
    [{ score: 1, reason: 'x'.repeat(11) }, 'answers.reason must be a string of at most 10 characters'],
    [{ score: 1, reason: 7 }, 'answers.reason must be a string of at most 10 characters'],
    [{ plan: 'weekly' }, 'answers.plan must be the id of an option, or { "other": "…" }'],
    [{ plan: { other: 'a', more: 'b' } }, 'answers.plan must be the id of an option, or { "other": "…" }'],
    [{ plan: ['monthly'] }, 'answers.plan must be the id of an option, or { "other": "…" }'],
    [{ plan: { other: 7 } }, 'answers.plan.other must be a string of at most 1,000 characters'],
    [{ plan: { other: 'x'.repeat(1_001) } }, 'answers.plan.other must be a string of at most 1,000 characters'],
    [{ fixed: 'weekly' }, 'answers.fixed must be the id of an option'],
    [{ fixed: { other: 'weekly' } }, 'answers.fixed must be the id of an option'],
    [
      { stars: 5, uses: 'never' },
      'answers.uses must be an array in which each item is the id of an option, or { "other": "…" }, at most once',
    ],
    [
      { stars: 5, uses: ['never', 'never'] },
      'answers.uses must be an array in which each item is the id of an option, or { "other": "…" }, at most once',
    ],
    [
      { stars: 5, uses: [{ other: 'a' }, { other: 'b' }] },
      'answers.uses must be an array in which each item is the id of an option, or { "other": "…" }, at most once',
    ],
    [{ stars: 5, uses: ['never', { other: 7 }] }, 'answers.uses[1].other must be a string of at most 1,000 characters'],
    [
      { stars: 5, uses: ['monthly', 'yearly', 'never', { other: 'a' }] },
      'answers.uses must have at most 3 of the options',
    ],
    [{ contact: 'yes' }, 'answers.contact must be true or false'],
    [{ docs: true }, 'answers.docs must not be given: a link has no answer'],
    [{ nothing: 1 }, 'answers.nothing must not be given: the form has no such element in this revision'],
    [{ constructor: 1 }, 'answers.constructor must not be given: the form has no such element in this revision'],
  ])('is refused, and its element is named: %j', (answers, message) => {
    expect(check(answers)).toBe(message)
  })

  it('is refused if its name is no element, however long and whatever it is', () => {
    const answers = JSON.parse(`{"__proto__":{"score":9},"${'x'.repeat(5_000)}":1}`) as object
    const checked = checkAnswers(content, { answers: answers as never, status: 'partial' })
    expect(checked).toMatchObject({
      outcome: 'rejected',
      message: expect.stringContaining('answers.__proto__ must not'),
    })
    expect(JSON.stringify(check({ ['x'.repeat(5_000)]: 1 })).length).toBeLessThan(200)
  })

  it('is named by its place only in the list of refusals', () => {
    const checked = checkAnswers(content, { answers: { canary: 1 }, status: 'partial' })
    if (checked.outcome !== 'rejected') throw new Error('accepted')
    expect(redactMessage(checked)).toBe('answers.… must not be given: the form has no such element in this revision')
  })
})

describe('an answer to a hidden element', () => {
  it.each<[string, object, object]>([
    ['hidden by another answer', { score: 9, reason: 'slow' }, { score: 9 }],
    ['hidden without the other answer', { reason: 'slow' }, {}],
    ['hidden because an element of its condition is hidden', { score: 9, reason: 'slow', more: 'yes' }, { score: 9 }],
    ['that would be refused', { score: 9, reason: 7 }, { score: 9 }],
    ['of an option that was not chosen', { plan: 'monthly', yearly: true }, { plan: 'monthly' }],
    [
      'if an own text has the id of an option',
      { plan: { other: 'yearly' }, yearly: true },
      { plan: { other: 'yearly' } },
    ],
  ])('is dropped: %s', (_why, answers, accepted) => {
    for (const status of ['partial', 'finished', 'dismissed'] as const)
      expect(check({ score: 9, ...answers }, status)).toEqual({ score: 9, ...accepted })
  })

  it('is kept once it is visible, in the order of the form', () => {
    const accepted = { score: 6, reason: 'slow', more: 'yes', plan: 'yearly', yearly: true, own: 'a' }
    const given = Object.fromEntries(Object.entries(accepted).toReversed())
    expect(Object.entries(check(given))).toEqual(Object.entries(accepted))
  })

  it('follows the operators of traits: an own text exists, and a list contains its options', () => {
    expect(check({ plan: { other: 'x' }, own: 'a' })).toEqual({ plan: { other: 'x' }, own: 'a' })
    expect(check({ plan: 'never', own: 'a' })).toEqual({ plan: 'never' })
    expect(check({ stars: 5, uses: ['never', 'monthly'], both: 'a' })).toHaveProperty('both')
    expect(check({ stars: 5, uses: [{ other: 'never' }], both: 'a' })).not.toHaveProperty('both')
  })
})

describe('a finished form', () => {
  it.each<[object, string]>([
    [{}, 'answers.score must be given in a finished form'],
    [{ score: 6 }, 'answers.reason must be given in a finished form'],
    [{ score: 6, reason: ' \n' }, 'answers.reason must be given in a finished form'],
    [{ score: 9, stars: 5 }, 'answers.uses must have at least 2 of the options in a finished form'],
    [{ score: 9, stars: 5, uses: ['never'] }, 'answers.uses must have at least 2 of the options in a finished form'],
  ])('lacks an answer: %j', (answers, message) => {
    expect(check(answers, 'finished')).toBe(message)
    for (const status of ['partial', 'dismissed'] as const) expect(check(answers, status)).toEqual(answers)
  })

  it.each<[object]>([
    [{ score: 9 }],
    [{ score: 6, reason: 'slow' }],
    [{ score: 9, stars: 5, uses: ['never', 'yearly'] }],
  ])('needs no answer to hidden and optional elements: %j', (answers) => {
    expect(check(answers, 'finished')).toEqual(answers)
  })
})

const statuses = fc.constantFrom<AnswerStatus>('partial', 'finished', 'dismissed')
/** Returns values that are valid for an element. */
function validFor(element: ContentElement): fc.Arbitrary<unknown> {
  switch (element.type) {
    case 'nps':
      return fc.oneof(fc.integer({ min: 0, max: 10 }), fc.constant(-0))
    case 'rating':
      return fc.integer({ min: 1, max: element.scale })
    case 'text':
      return fc
        .string({ unit: 'grapheme', maxLength: 1 })
        .map((text) => Array.from(text).slice(0, element.maxLength).join(''))
    case 'choice':
    case 'choices': {
      const own = element.other ? [fc.record({ other: fc.string({ unit: 'grapheme' }) })] : []
      const choice = fc.oneof(fc.constantFrom(...element.options.map(({ id }) => id)), ...own)
      const atMost = element.type === 'choices' ? (element.atMost ?? 1) : 0
      return element.type === 'choice' ? choice : fc.array(choice, { maxLength: Math.min(1, atMost) })
    }
    case 'consent':
      return fc.boolean()
    case 'link':
      return fc.constant(null)
  }
}
/** A content with valid answers to some of its elements. */
const answered = formContents.chain((input) => {
  const form = FormContent.parse(input)
  const values = Object.fromEntries(form.elements.map((element) => [element.id, validFor(element)]))
  return fc.record({
    form: fc.constant(form),
    answers: fc.record(values, { requiredKeys: [] }) as fc.Arbitrary<Readonly<Record<string, unknown>>>,
  })
})
const hostile = fc.dictionary(
  fc.oneof(fc.constantFrom('score', 'reason', 'stars', 'plan', 'uses', '__proto__', 'other'), fc.string()),
  fc.oneof(fc.jsonValue(), fc.array(fc.record({ other: fc.jsonValue() })), fc.constantFrom(Infinity, 1e300, 2 ** 53)),
)

describe('for every content', () => {
  it('accepted answers are accepted again, unchanged', () => {
    fc.assert(
      fc.property(answered, statuses, ({ form, answers }, status) => {
        const first = checkAnswers(form, { answers, status })
        fc.pre(first.outcome === 'ok')
        expect(checkAnswers(form, { answers: first.answers as JsonObject, status })).toEqual(first)
        expect(JSON.parse(JSON.stringify(first.answers))).toEqual(first.answers)
      }),
    )
  })

  it('no answer to a hidden element survives, and none to a visible one is lost', () => {
    fc.assert(
      fc.property(answered, ({ form, answers }) => {
        const { score } = answers
        // The conditions of these contents are on `score` only, which is always visible.
        const isShown = (showIf: unknown): boolean => {
          if (showIf === undefined) return true
          const { not, exists, atMost = 0 } = showIf as { not?: { any: object[] }; exists?: boolean; atMost?: number }
          if (not) return !isShown(not.any[0])
          return exists === undefined ? typeof score === 'number' && score <= atMost : exists === (score !== undefined)
        }
        const given = form.elements.filter(({ id }) => (answers[id] ?? undefined) !== undefined)
        const shown = given.filter(({ showIf }) => isShown(showIf)).map(({ id }) => [id, answers[id]])
        // `-0` is 0.
        const expected = JSON.parse(JSON.stringify(Object.fromEntries(shown))) as object
        expect(checkAnswers(form, { answers, status: 'partial' })).toEqual({ outcome: 'ok', answers: expected })
      }),
    )
  })

  it('no JSON makes the check throw, and only answers are kept', () => {
    fc.assert(
      fc.property(formContents, hostile, statuses, (input, answers, status) => {
        const form = FormContent.parse(input)
        const checked = checkAnswers(form, { answers, status })
        const again =
          checked.outcome === 'ok' ? checkAnswers(form, { answers: checked.answers as JsonObject, status }) : checked
        expect(again).toEqual(checked)
        expect(checked.outcome === 'ok' || checked.message.startsWith('answers.')).toBe(true)
      }),
    )
  })
})
