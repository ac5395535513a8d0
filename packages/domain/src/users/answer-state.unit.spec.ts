import type { AnswerGiven, Answers, AnswerStatus, ElementType } from '@nextvisit/contracts'
import { answerGiven } from '@nextvisit/contracts/fixtures'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { iso, MINUTE, NOW } from '../../test/form-fixtures.ts'
import {
  type AnswerStates,
  answerStateOf,
  applyAnswer,
  changedAnswers,
  finishedAtOf,
  MAX_ANSWERED_FORMS,
  MAX_OTHER_OFFERS,
  MAX_FORMS_WITH_ANSWERS,
  NO_ANSWERS,
  storedAnswersOf,
} from './answer-state.ts'

const [FIRST, SECOND, THIRD] = [offer(1), offer(2), offer(3)]

function offer(nth: number): string {
  return `00000000-0000-5000-8000-${String(nth).padStart(12, '0')}`
}

const TYPES: Record<string, ElementType> = {
  score: 'nps',
  stars: 'rating',
  reason: 'text',
  plan: 'choice',
  uses: 'choices',
  contact: 'consent',
}

interface Given {
  readonly status?: AnswerStatus
  readonly offerId?: string
  readonly formId?: string
  /** Minutes after NOW. */
  readonly after?: number
}

function given(
  answers: Answers,
  { status = 'partial', offerId = FIRST, formId = 'nps', after = 0 }: Given = {},
): AnswerGiven {
  const elements = Object.fromEntries(Object.keys(answers).map((id) => [id, TYPES[id] ?? 'text']))
  return answerGiven({ answers, elements, status, offerId, formId, received: iso(NOW + after * MINUTE) })
}

function stateAfter(...facts: readonly AnswerGiven[]) {
  const state = facts.reduce(applyAnswer, NO_ANSWERS).get('nps')
  return (
    state && {
      ...state,
      answers: Object.fromEntries(state.answers),
      otherOffers: Object.fromEntries(state.otherOffers),
    }
  )
}

const finishedAt = (...facts: readonly AnswerGiven[]) => finishedAtOf(facts.reduce(applyAnswer, NO_ANSWERS).get('nps'))
const named = (from: number) => Object.fromEntries(Array.from({ length: 40 }, (_, nth) => [`e${from + nth}`, nth]))
const elements = (...facts: readonly AnswerGiven[]) => Object.keys(stateAfter(...facts)?.answers ?? {})

describe('the answers that conditions see', () => {
  it('do not change by an answer whose key is destroyed', () => {
    const { answers: _, ...clear } = given({ score: 4 }, { status: 'finished' })
    const closed = { ...clear, sealed: { key: FIRST, bytes: '' } } as unknown as AnswerGiven
    expect(applyAnswer(NO_ANSWERS, closed)).toBe(NO_ANSWERS)
  })

  it('are merged by element while a form is partially answered', () => {
    const state = stateAfter(given({ score: 4, plan: 'monthly' }), given({ score: 5, stars: 2 }, { after: 1 }))
    expect(state).toEqual({
      offerId: FIRST,
      status: 'partial',
      keptSince: NOW,
      endedAt: undefined,
      answers: { score: 5, plan: 'monthly', stars: 2 },
      otherOffers: {},
    })
  })

  it('are those of the finished form, which has the complete set', () => {
    const state = stateAfter(
      given({ score: 4, plan: 'monthly' }),
      given({ score: 5 }, { status: 'finished', after: 1 }),
    )
    expect(state).toMatchObject({ status: 'finished', keptSince: NOW, endedAt: NOW + MINUTE })
    expect(state?.answers).toEqual({ score: 5 })
  })

  it('stay when the form is dismissed, which does not finish it', () => {
    const state = stateAfter(given({ score: 4 }), given({}, { status: 'dismissed', after: 1 }))
    expect(state).toMatchObject({ status: 'dismissed', endedAt: NOW + MINUTE, answers: { score: 4 } })
    expect(finishedAt(given({ score: 4 }), given({}, { status: 'dismissed', after: 1 }))).toBeUndefined()
  })

  it.each(['finished', 'dismissed'] as const)('do not change once the offer is %s', (status) => {
    const ended = applyAnswer(NO_ANSWERS, given({ score: 4 }, { status }))
    for (const later of ['partial', 'finished', 'dismissed'] as const)
      expect(applyAnswer(ended, given({ score: 9 }, { status: later, after: 1 }))).toBe(ended)
  })

  it('are those of the offer that was begun last while none is finished', () => {
    const state = stateAfter(given({ score: 4, stars: 1 }), given({ score: 9 }, { offerId: SECOND, after: 2 }))
    expect(state).toMatchObject({ offerId: SECOND, status: 'partial', keptSince: NOW + 2 * MINUTE })
    expect(state).toMatchObject({ answers: { score: 9 }, otherOffers: { [FIRST]: false } })
  })

  it.each(['partial', 'dismissed'] as const)('of a finished offer are not hidden by a later %s one', (status) => {
    const state = stateAfter(
      given({ score: 4, stars: 1 }, { status: 'finished' }),
      given({ score: 9 }, { offerId: SECOND, status, after: 2 }),
    )
    expect(state).toMatchObject({ offerId: FIRST, status: 'finished', endedAt: NOW, answers: { score: 4, stars: 1 } })
    expect(state?.otherOffers).toEqual({ [SECOND]: status === 'dismissed' })
  })

  it.each([
    ['earlier', FIRST, SECOND],
    ['later', SECOND, FIRST],
  ])('become those of the %s offer when it is finished, with the complete set', (_which, finishing, other) => {
    const facts = [given({ score: 4, stars: 1 }), given({ score: 9, stars: 2 }, { offerId: SECOND, after: 1 })]
    const finished = given({ score: 2 }, { offerId: finishing, status: 'finished', after: 3 })
    const at = NOW + 3 * MINUTE
    expect(stateAfter(...facts, finished)).toMatchObject({
      offerId: finishing,
      status: 'finished',
      endedAt: at,
      answers: { score: 2 },
      otherOffers: { [other]: false },
    })
    expect(stateAfter(...facts, finished)?.answers).toEqual({ score: 2 })
    expect(finishedAt(...facts, finished)).toBe(at)
    const both = given({ score: 7 }, { offerId: other, status: 'finished', after: 4 })
    expect(stateAfter(...facts, finished, both)).toMatchObject({
      offerId: other,
      keptSince: NOW + 4 * MINUTE,
      answers: { score: 7 },
      otherOffers: { [finishing]: true },
    })
  })

  it.each(['finished', 'dismissed'] as const)('never come back once their offer is %s', (status) => {
    const second = given({ score: 9 }, { offerId: SECOND, status: 'finished', after: 1 })
    const next = [given({ score: 4 }, { status }), second].reduce(applyAnswer, NO_ANSWERS)
    for (const later of ['partial', 'finished', 'dismissed'] as const)
      expect(applyAnswer(next, given({ score: 2 }, { status: later, after: 2 }))).toBe(next)
  })

  it('do not change by further answers to an offer that was begun earlier, until it ends', () => {
    const begun = [given({ score: 4 }), given({ score: 9 }, { offerId: SECOND, after: 1 })]
    const states = begun.reduce(applyAnswer, NO_ANSWERS)
    expect(applyAnswer(states, given({ score: 3 }, { after: 2 }))).toBe(states)
    const dismissed = given({ score: 3 }, { status: 'dismissed', after: 3 })
    expect(stateAfter(...begun, dismissed)).toMatchObject({ offerId: SECOND, otherOffers: { [FIRST]: true } })
    const finished = given({ score: 2 }, { status: 'finished', after: 4 })
    expect(stateAfter(...begun, dismissed, finished)).toEqual(stateAfter(...begun, dismissed))
  })

  it('know the 20 latest other offers: one before them counts as new', () => {
    const offers = Array.from({ length: MAX_OTHER_OFFERS + 2 }, (_, nth) => offer(nth + 1))
    const facts = offers.map((offerId, nth) => given({ score: 4 }, { offerId, status: 'finished', after: nth }))
    const states = facts.reduce(applyAnswer, NO_ANSWERS)
    expect([...(states.get('nps')?.otherOffers.keys() ?? [])]).toEqual(offers.slice(1, -1))
    expect(applyAnswer(states, given({ score: 9 }, { offerId: SECOND }))).toBe(states)
    const again = given({ score: 9 }, { offerId: FIRST, status: 'finished' })
    expect(applyAnswer(states, again).get('nps')).toMatchObject({ offerId: FIRST })
  })

  it('have no texts of the user: only that they were given', () => {
    const answers = {
      reason: 'too slow',
      plan: { other: 'weekly' },
      uses: ['work', { other: 'sailing' }],
      contact: false,
    }
    expect(stateAfter(given(answers))?.answers).toEqual({
      reason: null,
      plan: null,
      uses: ['work', null],
      contact: false,
    })
    expect(JSON.stringify(storedOf([given(answers)]))).not.toMatch(/slow|weekly|sailing/)
  })

  it('of one offer have as many elements as a content, also under several revisions', () => {
    expect(elements(given(named(0)), given(named(0)))).toHaveLength(40)
    const both = elements(given(named(0)), given(named(40)))
    expect([both.length, both.includes('e29'), both.includes('e30')]).toEqual([50, false, true])
  })

  it('of too many elements are those that were given last, also if they were given before', () => {
    const kept = elements(given(named(0)), given({ e0: 1 }), given(named(40)))
    expect([kept.length, kept.includes('e0'), kept.includes('e30'), kept.includes('e31')]).toEqual([
      50,
      true,
      false,
      true,
    ])
  })

  it('treat an element of unknown type as a text, and names such as constructor as others', () => {
    const fact = { ...given({}), answers: { constructor: 'secret' }, elements: {} }
    expect(Object.entries(stateAfter(fact)?.answers ?? {})).toEqual([['constructor', null]])
  })

  it('are kept of at most 100 forms: of the one with the oldest answers, only whether it was finished', () => {
    const facts = Array.from({ length: MAX_FORMS_WITH_ANSWERS }, (_, nth) =>
      given({ score: 4 }, { formId: `f${nth}`, status: 'finished', after: nth }),
    )
    const full = facts.reduce(applyAnswer, NO_ANSWERS)
    const again = applyAnswer(
      full,
      given({ score: 1 }, { formId: 'f0', offerId: SECOND, status: 'finished', after: 500 }),
    )
    const next = applyAnswer(again, given({ score: 2 }, { formId: 'new', after: -1 }))
    const sizeOf = (formId: string) => next.get(formId)?.answers.size
    expect([next.size, sizeOf('f0'), sizeOf('f1'), sizeOf('new')]).toEqual([101, 1, 0, 1])
    expect(next.get('f1')).toMatchObject({ offerId: FIRST, status: 'finished', endedAt: NOW + MINUTE })
    expect(changedAnswers(again, next)).toMatchObject({
      written: [
        ['f1', {}],
        ['new', {}],
      ],
      dropped: [],
    })
    const dismissed = applyAnswer(next, given({}, { formId: 'dismissed', status: 'dismissed', after: 501 }))
    expect(dismissed.get('f2')?.answers.size).toBe(1)
  })

  it('are forgotten with the form that has the oldest ones, beyond 1,000 forms', () => {
    const facts = Array.from({ length: MAX_ANSWERED_FORMS }, (_, nth) =>
      given({ score: 4 }, { formId: `f${nth}`, status: 'finished', after: nth }),
    )
    const full = facts.reduce(applyAnswer, NO_ANSWERS)
    const next = applyAnswer(full, given({ score: 2 }, { formId: 'new', after: -1 }))
    expect([full.size, next.size, next.has('new')]).toEqual([1_000, 1_000, true])
    expect(changedAnswers(full, next).dropped).toEqual(['f0'])
  })
})

const storyOfAnswers = fc.array(
  fc.record({
    formId: fc.constantFrom('nps', 'other'),
    offerId: fc.constantFrom(FIRST, SECOND, THIRD),
    status: fc.constantFrom<AnswerStatus>('partial', 'partial', 'finished', 'dismissed'),
    after: fc.nat(5),
    answers: fc.record(
      { score: fc.nat(10), reason: fc.string(), plan: fc.constantFrom('monthly', 'yearly') },
      { requiredKeys: [] },
    ),
  }),
  { maxLength: 12 },
)

function storedOf(facts: readonly AnswerGiven[], states: AnswerStates = NO_ANSWERS) {
  return Array.from(facts.reduce(applyAnswer, states), ([formId, state]) => [formId, storedAnswersOf(state)] as const)
}

const factsOf = (story: readonly (Given & { readonly answers: Answers })[]) =>
  story.map(({ answers, ...how }) => given(answers, how))

describe('any story of answers', () => {
  it('ends in the same rows, wherever the rows are stored and loaded in between', () => {
    fc.assert(
      fc.property(storyOfAnswers, fc.nat(12), (story, at) => {
        const facts = factsOf(story)
        const half = new Map(storedOf(facts.slice(0, at)).map(([formId, stored]) => [formId, answerStateOf(stored)]))
        expect(storedOf(facts.slice(at), half)).toEqual(storedOf(facts))
      }),
    )
  })

  it('does not change if each answer is in the log twice in a row', () => {
    fc.assert(
      fc.property(storyOfAnswers, (story) => {
        const facts = factsOf(story)
        expect(storedOf(facts.flatMap((fact) => [fact, fact]))).toEqual(storedOf(facts))
      }),
    )
  })

  it('keeps the answers of the offer that was finished last, or, while none was, begun last', () => {
    fc.assert(
      fc.property(storyOfAnswers, (story) => {
        let states = NO_ANSWERS
        let finished: AnswerGiven | undefined
        const begun: string[] = []
        const ended = new Set<string>()
        for (const fact of factsOf(story.filter(({ formId }) => formId === 'nps'))) {
          const next = applyAnswer(states, fact)
          expect(ended.has(fact.offerId) && next !== states).toBe(false)
          if (!begun.includes(fact.offerId)) begun.push(fact.offerId)
          if (fact.status === 'finished' && !ended.has(fact.offerId)) finished = fact
          if (fact.status !== 'partial') ended.add(fact.offerId)
          const state = next.get('nps')
          expect(state?.offerId).toBe(finished?.offerId ?? begun.at(-1))
          expect(finishedAtOf(state)).toBe(finished && Date.parse(finished.received))
          const keptElements = new Set(state?.answers.keys())
          expect(keptElements).toEqual(finished ? new Set(Object.keys(finished.answers)) : keptElements)
          states = next
        }
      }),
    )
  })
})
