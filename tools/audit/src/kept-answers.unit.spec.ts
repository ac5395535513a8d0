import type { AnswerGiven, Answers, AnswerStatus } from '@nextvisit/contracts'
import { answerGiven } from '@nextvisit/contracts/fixtures'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keptAnswersInProduct } from '../test/product.ts'
import { type AnswersByForm, createKeptAnswers } from './kept-answers.ts'
import { userKey } from './facts.ts'

const OFFERS = Array.from({ length: 25 }, (_, nth) => `00000000-0000-5000-8000-0000000000${nth + 10}`)
const TYPES = { score: 'nps', reason: 'text', plan: 'choice', uses: 'choices', contact: 'consent' } as const

const story = fc.array(
  fc.record({
    formId: fc.oneof(
      fc.constant('nps'),
      fc.nat(150).map((nth) => `f${nth}`),
    ),
    offerId: fc.oneof(fc.constantFrom(...OFFERS.slice(0, 3)), fc.constantFrom(...OFFERS)),
    status: fc.constantFrom<AnswerStatus>('partial', 'partial', 'finished', 'dismissed'),
    second: fc.nat(59),
    answers: fc.record<Answers>(
      {
        score: fc.nat(10),
        reason: fc.string(),
        plan: fc.oneof(fc.constant('monthly'), fc.constant({ other: 'weekly' })),
        uses: fc.constantFrom([], ['work'], ['work', { other: 'sailing' }]),
        contact: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
  }),
  { maxLength: 250, size: 'max' },
)

function comparedOf(kept: AnswersByForm) {
  return new Map(
    Array.from(kept, ([formId, { answers, otherOffers, ...row }]) => [
      formId,
      {
        ...row,
        answers: JSON.stringify(Object.fromEntries(answers)),
        otherOffers: JSON.stringify(Object.fromEntries(otherOffers)),
      },
    ]),
  )
}

/** Returns answers to 40 elements. */
function numbers(from: number) {
  return Object.fromEntries(Array.from({ length: 40 }, (_, nth) => [`e${from + nth}`, nth]))
}

/** Returns the rows of the auditor and of the product. */
function rowsOf(facts: readonly AnswerGiven[]) {
  const kept = createKeptAnswers()
  for (const fact of facts) kept.give(fact)
  const [first] = facts
  return { own: comparedOf(first ? kept.of(userKey(first)) : new Map()), products: keptAnswersInProduct(facts) }
}

describe("the auditor's kept answers", () => {
  it('are those of the product, by rules of its own', () => {
    fc.assert(
      fc.property(story, (told) => {
        const facts = told.map(({ second, answers, ...how }): AnswerGiven => {
          const elements = Object.fromEntries(Object.keys(answers).map((id) => [id, TYPES[id as keyof typeof TYPES]]))
          const received = new Date(Date.UTC(2026, 10, 2, 10, 0, second)).toISOString()
          return answerGiven({ ...how, answers, elements, received })
        })
        const { own, products } = rowsOf(facts)
        expect(own).toEqual(products)
      }),
    )
  })

  it('are those of the product beyond its bounds of forms and elements', () => {
    const parts = [numbers(0), { e0: 1 }, numbers(40)].map((answers) =>
      answerGiven({ formId: 'long', status: 'partial', answers, elements: {} }),
    )
    const finished = Array.from({ length: 1_001 }, (_, nth) => answerGiven({ formId: `f${nth}` }))
    const { own, products } = rowsOf([...parts, ...finished])
    expect(own).toEqual(products)
  })
})
