import type { AnswerGiven, Answers, AnswerStatus } from '@nextvisit/contracts'
import { answerGiven } from '@nextvisit/contracts/fixtures'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { keptAnswersInProduct } from '../test/product.ts'
import { type AnswersByForm, createKeptAnswers } from './kept-answers.ts'
import { userKey } from './facts.ts'

const OFFERS = ['00000000-0000-5000-8000-00000000000a', '00000000-0000-5000-8000-00000000000b']
const TYPES = { score: 'nps', reason: 'text', plan: 'choice', uses: 'choices', contact: 'consent' } as const

const story = fc.array(
  fc.record({
    formId: fc.oneof(
      fc.constant('nps'),
      fc.nat(150).map((nth) => `f${nth}`),
    ),
    offerId: fc.constantFrom(...OFFERS),
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
    Array.from(kept, ([formId, { answers, ...row }]) => [
      formId,
      { ...row, answers: JSON.stringify(Object.fromEntries(answers)) },
    ]),
  )
}

it("the auditor's kept answers are those of the product, by rules of its own", () => {
  fc.assert(
    fc.property(story, (told) => {
      const facts = told.map(({ second, answers, ...how }): AnswerGiven => {
        const elements = Object.fromEntries(Object.keys(answers).map((id) => [id, TYPES[id as keyof typeof TYPES]]))
        const received = new Date(Date.UTC(2026, 10, 2, 10, 0, second)).toISOString()
        return answerGiven({ ...how, answers, elements, received })
      })
      const kept = createKeptAnswers()
      for (const fact of facts) kept.give(fact)
      const [first] = facts
      const own = first ? kept.of(userKey(first)) : new Map()
      expect(comparedOf(own)).toEqual(keptAnswersInProduct(facts))
    }),
  )
})
