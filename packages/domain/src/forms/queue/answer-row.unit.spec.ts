import type { AnswerGiven, AnswerStatus } from '@nextvisit/contracts'
import { answerGiven } from '@nextvisit/contracts/fixtures'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { iso, MINUTE, moment, NOW, openForm, type OpenFormInput } from '../../../test/form-fixtures.ts'
import { answerRow } from './answer-row.ts'
import { cancel, confirm, expireDue, type Queue, queueOf } from './queue.ts'

const ROW_ID = '0192aa00-0000-5000-8000-000000000001'
const { organization, project, userId } = openForm()
const sealed = { key: '019a4423-5b80-7cc1-8f5d-0c2f6a1b7e44', bytes: 'c2VhbGVk' }

const queueWith = (special: OpenFormInput = {}) => queueOf([openForm({ id: ROW_ID, ...special })])
const given = (status: AnswerStatus, special: Partial<AnswerGiven> = {}) =>
  answerGiven({ organization, project, userId, offerId: ROW_ID, formId: 'nps', received: iso(NOW), status, ...special })

/** Records answers one after the other. */
function record(queue: Queue, ...answers: readonly AnswerGiven[]) {
  const outcomes: string[] = []
  let next = queue
  for (const answer of answers) {
    const { queue: after, fact } = answerRow(next, answer, sealed)
    outcomes.push(fact.outcome)
    next = after
  }
  return { queue: next, row: next.rows.get(ROW_ID), outcomes }
}

const confirmation = { queuedId: ROW_ID, visitId: ROW_ID, received: iso(NOW - MINUTE), environment: 'P' } as const

describe('an answer to a form (forms.md, Outcomes of answers)', () => {
  it('is published with the members of the answer, and with its sealed members unchanged', () => {
    const answer = given('finished', { language: 'de', revision: 3, environment: 'T', elements: { score: 'nps' } })
    expect(answerRow(queueWith(), answer, sealed).fact).toEqual({
      type: 'FormAnswered',
      id: answer.id,
      organization,
      project,
      userId,
      queuedId: ROW_ID,
      formId: 'nps',
      at: iso(NOW),
      causeId: openForm().causeId,
      causeOffset: openForm().causeOffset,
      outcome: 'recorded',
      status: 'finished',
      revision: 3,
      language: 'de',
      environment: 'T',
      elements: { score: 'nps' },
      sealed,
    })
  })

  it('starts with the first element, and ends with the first that is finished or dismissed', () => {
    const [early, late] = [{ received: iso(NOW + MINUTE) }, { received: iso(NOW + 2 * MINUTE) }]
    const opened = given('partial', { elements: {} })
    expect(record(queueWith(), opened).row).toMatchObject({ answerStatus: 'partial', startedAt: null, endedAt: null })
    const begun = record(queueWith(), opened, given('partial', early), given('partial', late))
    expect(begun).toMatchObject({ outcomes: ['recorded', 'recorded', 'recorded'], row: { startedAt: early.received } })
    const ended = record(begun.queue, given('dismissed', late), given('finished'), given('partial'))
    expect(ended.outcomes).toEqual(['recorded', 'late', 'late'])
    expect(ended.row).toMatchObject({ answerStatus: 'dismissed', startedAt: early.received, endedAt: late.received })
  })

  it('may end a form without any element', () => {
    const { row } = record(queueWith(), given('dismissed', { elements: {} }))
    expect(row).toMatchObject({ answerStatus: 'dismissed', startedAt: null, endedAt: iso(NOW) })
  })

  it.each<[string, Partial<AnswerGiven>]>([
    ['an unknown offer', { offerId: '0192aa00-0000-5000-8000-000000000002' }],
    ['an offer of another form', { formId: 'ces' }],
  ])('to %s is unmatched, and changes nothing', (_what, special) => {
    const queue = queueWith()
    const { outcomes, queue: after } = record(queue, given('finished', special))
    expect(outcomes).toEqual(['unmatched'])
    expect(answerRow(queue, given('finished', special), sealed).fact).not.toHaveProperty('causeId')
    expect(after).toEqual(queue)
  })

  it.each<[string, Queue, string]>([
    ['waits', queueWith(), 'answered'],
    ['is offered', queueWith({ state: 'offered', offeredAt: NOW }), 'answered'],
    ['was delivered', confirm(queueWith(), confirmation).queue, 'delivered'],
    ['has expired', expireDue(queueWith({ expiresAt: NOW }), moment(NOW)).queue, 'expired'],
    ['was cancelled', cancel(queueWith(), openForm({ id: ROW_ID }), moment(NOW)).queue, 'cancelled'],
  ])('counts if its row %s, and takes an open row out of the queue', (_what, queue, state) => {
    const begun = record(queue, given('partial'))
    expect(begun).toMatchObject({ outcomes: ['recorded'], row: { state: queue.rows.get(ROW_ID)?.state } })
    const ended = record(begun.queue, given('finished'))
    expect(ended).toMatchObject({ outcomes: ['recorded'], row: { state, answerStatus: 'finished' } })
    expect([ended.queue.open.size, ended.queue.shown.size]).toEqual([0, state === 'delivered' ? 1 : 0])
  })

  it('does not deliver its row; the visit does, before the answer or after it', () => {
    const before = record(confirm(queueWith(), confirmation).queue, given('finished')).queue
    const after = confirm(record(queueWith(), given('finished')).queue, confirmation).queue
    expect(after).toEqual(before)
    expect(after.rows.get(ROW_ID)).toMatchObject({ state: 'delivered', endedAt: iso(NOW) })
  })

  it('has one end in any order of several tabs and of the confirmation', () => {
    const statuses = fc.array(fc.constantFrom<AnswerStatus>('partial', 'finished', 'dismissed'), { maxLength: 6 })
    fc.assert(
      fc.property(statuses, fc.nat({ max: 6 }), (all, confirmedAt) => {
        const answers = all.map((status, nth) => given(status, { received: iso(NOW + nth * MINUTE) }))
        const before = record(queueWith(), ...answers.slice(0, confirmedAt))
        const after = record(confirm(before.queue, confirmation).queue, ...answers.slice(confirmedAt))
        const end = answers.find(({ status }) => status !== 'partial')
        const counted = end ? answers.indexOf(end) + 1 : answers.length
        expect([...before.outcomes, ...after.outcomes]).toEqual(
          answers.map((_answer, nth) => (nth < counted ? 'recorded' : 'late')),
        )
        expect(after.row).toMatchObject({
          state: 'delivered',
          answerStatus: end?.status ?? (all.length > 0 ? 'partial' : null),
          startedAt: answers[0]?.received ?? null,
          endedAt: end?.received ?? null,
        })
      }),
    )
  })
})
