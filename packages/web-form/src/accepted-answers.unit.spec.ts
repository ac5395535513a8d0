import { FormContent as AppliedContent } from '@nextvisit/contracts'
import { checkAnswers, localizedContent } from '@nextvisit/domain'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Answer, Answers, QuestionElement } from '@nextvisit/contracts/shown-form'
import { faultOf, invalidity } from './faults.ts'
import { shownIds } from './show-if.ts'
import { wordsIn } from './words.ts'

const words = wordsIn('en')
const options = ['a', 'b', 'c'].map((id) => ({ id, label: id }))
const question = { required: fc.boolean() }
const own = fc.record({ other: fc.constantFrom('', ' ', 'C', '🚀'.repeat(1_000), 'x'.repeat(1_001)) })
const option = fc.constantFrom('a', 'b', 'c')

/** An element, and an answer that its field may have. */
const asked: fc.Arbitrary<readonly [element: object, answer: Answer | undefined]> = fc.oneof(
  fc.tuple(
    fc.record({ type: fc.constant('nps'), ...question }),
    fc.option(fc.integer({ min: 0, max: 10 }), { nil: undefined }),
  ),
  fc.tuple(
    fc.record({ type: fc.constant('rating'), scale: fc.constant(3), ...question }),
    fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  ),
  fc.tuple(
    fc.record({ type: fc.constant('text'), maxLength: fc.constant(3), ...question }),
    fc.constantFrom(undefined, 'abc', 'abcd', '🚀🚀🚀', '🚀🚀🚀🚀'),
  ),
  fc.tuple(
    fc.record({ type: fc.constant('choice'), options: fc.constant(options), other: fc.constant(true), ...question }),
    fc.option(fc.oneof(option, own), { nil: undefined }),
  ),
  fc.tuple(
    fc.record({
      type: fc.constant('choices'),
      options: fc.constant(options),
      other: fc.constant(true),
      atLeast: fc.integer({ min: 0, max: 2 }),
      atMost: fc.integer({ min: 2, max: 4 }),
      ...question,
    }),
    fc.option(
      fc
        .tuple(fc.uniqueArray(option, { maxLength: 3 }), fc.option(own))
        .map(([ids, text]) => (text ? [...ids, text] : ids))
        .filter(({ length }) => length > 0),
      { nil: undefined },
    ),
  ),
  fc.tuple(
    fc.record({ type: fc.constant('consent'), label: fc.constant('Yes'), ...question }),
    fc.constantFrom(undefined, true, false),
  ),
)
const showIf = fc.record({ answer: fc.constant('e0'), exists: fc.boolean() })

/** A content with the answers of a user. An element may depend on the first. */
const filled = fc.array(fc.tuple(asked, fc.option(showIf)), { minLength: 1, maxLength: 6 }).map((all) => {
  const elements = all.map(([[element], condition], nth) => ({
    ...element,
    id: `e${nth}`,
    ...(nth > 0 && condition && { showIf: condition }),
  }))
  const answers = all.flatMap(([[, answer]], nth) => (answer === undefined ? [] : [[`e${nth}`, answer] as const]))
  return { content: AppliedContent.parse({ elements }), answers: Object.fromEntries(answers) as Answers }
})

describe('answers without a message', () => {
  it.each([
    ['finished', faultOf],
    ['partial', invalidity],
  ] as const)('are accepted by the gateway as %s ones', (status, messageOf) => {
    let accepted = 0
    fc.assert(
      fc.property(filled, ({ content, answers }) => {
        const elements = localizedContent(content, 'en').elements as readonly QuestionElement[]
        const ids = shownIds(elements, answers)
        const shown = elements.filter(({ id }) => ids.has(id))
        if (shown.some((element) => messageOf(element, answers[element.id], words))) return
        const sent = Object.fromEntries(Object.entries(answers).filter(([id]) => ids.has(id)))
        expect(checkAnswers(content, { answers: sent, status })).toEqual({ outcome: 'ok', answers: sent })
        accepted += 1
      }),
      { numRuns: 500 },
    )
    expect(accepted).toBeGreaterThan(10)
  })
})
