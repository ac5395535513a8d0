import { Form, ProjectConfig, type Trigger } from '@nextvisit/contracts'
import { answerGiven } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import {
  answeredContext,
  answersTo,
  eventContext,
  formIndex,
  userState,
  visitContext,
} from '../../../test/form-fixtures.ts'
import { triggerInWords } from '../../conditions/condition-words.ts'
import { evaluateForms } from '../evaluate-forms.ts'
import { answersNeededBy, countsNeededBy } from '../needed-facts.ts'
import { answeredContextOf } from '../triggers.ts'
import { describeComparison, gateSettingsOf } from './gates.ts'

const LOW = { answered: { form: 'nps', where: { answer: 'score', atMost: 6 } } } satisfies Trigger
const ANY = { answered: { form: 'nps' } } satisfies Trigger

const decide = (triggers: Trigger[], context = answeredContext({ score: 4 })) =>
  evaluateForms(formIndex([{ id: 'follow-up', triggers }]), userState(), context)

describe('a trigger on the answers to another form (forms.md)', () => {
  it('queues the form, and records the compared answer', () => {
    const [decision] = decide([LOW])
    expect(decision).toMatchObject({ formId: 'follow-up', outcome: 'queued', trigger: LOW })
    const [where] = decision?.gates ?? []
    expect(where).toEqual({
      gate: 'where',
      passed: true,
      compared: { leaf: LOW.answered.where, negated: false, actual: 4 },
    })
    expect(where && describeComparison(where)).toBe('answer score atMost 6; the user has 4')
  })

  it('refuses other answers before any other gate', () => {
    expect(decide([LOW], answeredContext({ score: 9 }))).toMatchObject([
      { outcome: 'not-queued', reason: 'answers-differ', gates: [{ gate: 'where', compared: { actual: 9 } }] },
    ])
    expect(decide([LOW, ANY], answeredContext({ score: 9 }))).toMatchObject([{ outcome: 'queued', trigger: ANY }])
  })

  it('compares texts, and names of objects as elements', () => {
    const slow: Trigger = { answered: { form: 'nps', where: { answer: 'reason', contains: 'slow' } } }
    expect(decide([slow], answeredContext({ reason: 'too slow' }))).toMatchObject([{ outcome: 'queued' }])
    const named: Trigger = { answered: { form: 'nps', where: { answer: 'constructor', exists: true } } }
    expect(decide([named])).toMatchObject([{ reason: 'answers-differ' }])
  })

  it('is set off neither by other forms, nor by events and visits', () => {
    for (const context of [answeredContext({}, 'other'), eventContext(), visitContext()])
      expect(decide([ANY], context)).toEqual([])
  })

  it('sees the answers of its own record, and the state after it', () => {
    const index = formIndex([
      { id: 'follow-up', triggers: [LOW], audience: { answer: { form: 'nps', element: 'score' }, is: 4 } },
    ])
    const context = answeredContextOf(answerGiven({ answers: { score: 4 } }))
    const user = userState({ answers: answersTo('nps', { score: 4 }) })
    expect(evaluateForms(index, user, context)).toMatchObject([{ outcome: 'queued' }])
  })

  it('is in words', () => {
    expect([LOW, ANY].map(triggerInWords)).toEqual([
      'form nps finished where answer score atMost 6',
      'form nps finished',
    ])
  })
})

const project = (form: object, segments: object[] = []) =>
  ProjectConfig.parse({ id: 'shop', segments, forms: [{ id: 'one', triggers: [{ event: 'checkout' }], ...form }] })

describe('the answers that an evaluation needs', () => {
  const promoters = { id: 'promoters', where: { answer: { form: 'nps', element: 'score' }, atLeast: 9 } }
  const event = { ...answerGiven(), type: 'EventTracked' } as never

  it.each([
    ['no condition', project({}), []],
    ['an audience', project({ audience: promoters.where }), ['nps']],
    ['a segment of an audience', project({ audience: { segment: 'promoters' } }, [promoters]), ['nps']],
    ['a segment that no form names', project({}, [promoters]), []],
    ['a form that is asked until answered', project({ frequency: { until: 'answered' } }), ['one']],
  ])('are those of %s', (_what, config, forms) => {
    expect(answersNeededBy(event, config)).toEqual(new Set(forms))
  })

  it('are all of a user who answers, also where nothing is evaluated', () => {
    expect(answersNeededBy(answerGiven(), undefined)).toBe('all')
  })

  it('need counts only if the answers may set off a form', () => {
    const audience = { event: 'paid', atLeast: 1 }
    const followed = project({ triggers: [LOW], audience })
    expect(countsNeededBy(answerGiven(), followed)).toEqual(['paid'])
    expect(countsNeededBy(answerGiven({ status: 'partial' }), followed)).toEqual([])
    expect(countsNeededBy(answerGiven({ formId: 'other' }), followed)).toEqual([])
    expect(countsNeededBy(answerGiven(), project({ audience }))).toEqual([])
  })
})

describe('a form that is asked until answered', () => {
  it('shows its frequency, and when the user has finished it', () => {
    const form = Form.parse({ id: 'nps', frequency: { until: 'answered' } })
    expect(gateSettingsOf(form, { formCooldown: '0s' })).toContainEqual({
      name: 'Frequency',
      words: 'until the user has answered the form',
    })
    const index = formIndex([{ frequency: { until: 'answered' } }])
    const [decision] = evaluateForms(index, userState({ answers: answersTo('nps') }), eventContext())
    expect(decision?.gates.map(describeComparison).at(-1)).toBe(
      'until the user has answered the form; finished 2026-11-02T09:00:00.000Z',
    )
  })
})
