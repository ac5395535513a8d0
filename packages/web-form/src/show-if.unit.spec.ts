import { AnswerCondition } from '@nextvisit/contracts'
import { compileTree, valueTest } from '@nextvisit/domain'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Answer, Answers, Condition, FormElement } from '@nextvisit/contracts/shown-form'
import { holds, shownIds } from './show-if.ts'

const IDS = ['one', 'two', 'three']
const word = fc.constantFrom('', 'a', 'b', 'ab', 'monthly', '5')
const number = fc.integer({ min: -1, max: 11 })
const scalar = fc.oneof(word, number, fc.boolean())
const own = fc.record({ other: word })
const answer: fc.Arbitrary<Answer> = fc.oneof(scalar, own, fc.array(fc.oneof(word, own), { maxLength: 3 }))
const answers = fc.dictionary(fc.constantFrom(...IDS), answer) as fc.Arbitrary<Answers>

/** The operators that a content may have. */
const operators = fc.oneof(
  ...['is', 'isNot'].map((name) => scalar.map((operand) => ({ [name]: operand }))),
  ...['in', 'notIn'].map((name) => fc.array(scalar, { minLength: 1, maxLength: 3 }).map((list) => ({ [name]: list }))),
  ...['contains', 'startsWith'].map((name) => word.map((operand) => ({ [name]: operand }))),
  fc.boolean().map((exists) => ({ exists })),
  ...['atLeast', 'atMost', 'moreThan', 'lessThan'].map((name) => number.map((operand) => ({ [name]: operand }))),
)
const leaf = fc.tuple(fc.constantFrom(...IDS), operators).map(([id, one]) => ({ answer: id, ...one }))
const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 3 },
    leaf as fc.Arbitrary<Condition>,
    fc.array(tie('condition'), { maxLength: 3 }).map((all) => ({ all })),
    fc.array(tie('condition'), { maxLength: 3 }).map((any) => ({ any })),
    tie('condition').map((not) => ({ not })),
  ),
}))

const noSegments = () => false
const element = (id: string, showIf?: Condition): FormElement => ({ id, type: 'nps', showIf })

describe('a condition on answers', () => {
  it('holds exactly if it holds by the rules of the server', () => {
    fc.assert(
      fc.property(condition, answers, (tree, given) => {
        const onServer = compileTree<Answers, AnswerCondition>(AnswerCondition.parse(tree), (one) => {
          const { answer: id, ...test } = one as { readonly answer: string }
          const holdsFor = valueTest(test)
          return (subject) => {
            const actual = Object.hasOwn(subject, id) ? (subject[id] as string) : undefined
            return { holds: holdsFor(actual, 0), leaf: one, negated: false, actual }
          }
        })
        expect(holds(tree, (id) => given[id])).toBe(onServer(given, 0, noSegments).holds)
      }),
      { numRuns: 500 },
    )
  })

  it('does not hold with an operator of a later version', () => {
    for (const operator of ['resembles', 'constructor'])
      expect(holds({ answer: 'one', [operator]: 'a' }, () => 'a')).toBe(false)
  })
})

describe('an element', () => {
  it('is shown without a condition, or if its condition holds', () => {
    const elements = [
      element('one'),
      element('two', { answer: 'one', atMost: 6 }),
      element('three', { not: { any: [] } }),
    ]
    expect([...shownIds(elements, {})]).toEqual(['one', 'three'])
    expect([...shownIds(elements, { one: 6 })]).toEqual(['one', 'two', 'three'])
  })

  it('counts as unanswered for others while it is hidden', () => {
    const elements = [
      element('three', { answer: 'two', is: 1 }),
      element('two', { answer: 'one', is: 1 }),
      element('one'),
      element('four', { answer: 'two', exists: false }),
    ]
    expect([...shownIds(elements, { two: 1 })]).toEqual(['one', 'four'])
    expect([...shownIds(elements, { one: 1, two: 1 })]).toEqual(['three', 'two', 'one'])
  })

  it('may be named like a member of every object', () => {
    const elements = [element('constructor'), element('one', { answer: 'constructor', exists: true })]
    expect([...shownIds(elements, {})]).toEqual(['constructor'])
    expect([...shownIds(elements, { constructor: 1 } as unknown as Answers)]).toEqual(['constructor', 'one'])
  })

  it('is hidden if it depends on itself, or on an unknown element', () => {
    const elements = [
      element('one', { answer: 'two', is: 1 }),
      element('two', { answer: 'one', is: 1 }),
      element('three', { answer: '__proto__', exists: true }),
    ]
    expect([...shownIds(elements, { one: 1, two: 1 })]).toEqual([])
  })
})
