import { type AnswerGiven, openFact, SealedFormFact, type UserFact } from '@nextvisit/contracts'
import { answerGiven, eventTracked, identifyRequested, visit, visitAnswered } from '@nextvisit/contracts/fixtures'
import { queuedIdOf } from '@nextvisit/domain'
import { testKeyOf } from '@nextvisit/testing'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { at, contextOf, MINUTE, nps, SECOND } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'
import { readForms, readQueue } from './queries.ts'

let given: GivenEvaluator
beforeAll(async () => {
  given = await givenEvaluator(inject('databaseUrl'))
})
afterEach(() => given.clear())
afterAll(() => given.stop())

const context = contextOf([{ ...nps, frequency: { repeat: 'always' } }])
const checkout = eventTracked({ received: at(0) })
const offerId = queuedIdOf(checkout.id, checkout.received, 'nps')
const { organization, project, userId } = checkout
const ada = { organization, project, userId }

const shown = visit({ received: at(SECOND) })
const confirmation = visitAnswered({
  visitId: shown.id,
  queuedId: offerId,
  formId: 'nps',
  received: shown.received,
  userId,
})
const give = (status: AnswerGiven['status'], minute: number, special: Partial<AnswerGiven> = {}) =>
  answerGiven({ offerId, status, received: at(minute * MINUTE), ...special })

/** Each record in a batch of its own, so that everything goes through the database. */
async function foldEach(...facts: readonly UserFact[]): Promise<void> {
  for (const fact of facts) await given.fold(context, fact)
}

/** Reads the published outcomes, opened with the keys of the users. */
async function readOutcomes() {
  const facts = (await given.outbox()).map(({ value }) => SealedFormFact.parse(JSON.parse(value)))
  return facts
    .filter((fact) => fact.type === 'FormAnswered')
    .map((fact) => {
      const opened = openFact(fact, testKeyOf(fact.userId).key.open)
      if (opened.outcome !== 'ok') throw new Error(opened.reason)
      return opened.fact
    })
}

const outcomesOf = async () => (await readOutcomes()).map(({ outcome, status }) => `${outcome} ${status}`)

describe('an answer', () => {
  it('is published with its outcome, sealed as the gateway has sealed it', async () => {
    const answers = { score: 4, reason: 'canary' }
    const answer = give('partial', 1, { answers, language: 'de', revision: 3, environment: 'T' })
    await foldEach(checkout, shown, confirmation, answer)
    const { elements, id, received } = answer
    expect(await readOutcomes()).toEqual([
      {
        type: 'FormAnswered',
        id,
        ...ada,
        queuedId: offerId,
        formId: 'nps',
        at: received,
        causeId: checkout.id,
        causeOffset: 0,
        outcome: 'recorded',
        status: 'partial',
        revision: 3,
        language: 'de',
        environment: 'T',
        elements,
        answers,
      },
    ])
    const told = (await given.outbox()).at(-1)
    expect(told).toMatchObject({ key: userId, headers: { ce_id: id, ce_type: 'FormAnswered', ce_time: received } })
    expect(told?.value).not.toContain('canary')
  })

  it('counts until the first that ends the form: of two tabs, the first in the log', async () => {
    await foldEach(checkout, shown, confirmation)
    await foldEach(
      give('partial', 1),
      give('partial', 2),
      give('finished', 3),
      give('dismissed', 4),
      give('partial', 5),
    )
    expect(await outcomesOf()).toEqual([
      'recorded partial',
      'recorded partial',
      'recorded finished',
      'late dismissed',
      'late partial',
    ])
    const [row] = await given.prisma.queueRow.findMany()
    const times = { startedAt: new Date(at(MINUTE)), endedAt: new Date(at(3 * MINUTE)) }
    expect(row).toMatchObject({ environment: 'P', state: 'delivered', answerStatus: 'finished', ...times })
  })

  it('is told once for repeats of a request with an Idempotency-Key', async () => {
    const answer = give('finished', 1, { keyed: true })
    await foldEach(checkout, shown, confirmation, answer, { ...answer, received: at(2 * MINUTE) })
    expect(await outcomesOf()).toEqual(['recorded finished'])
  })

  it('is unmatched if the offer is of another user or another form, or unknown', async () => {
    await foldEach(checkout, give('finished', 1, { userName: 'bob' } as never), give('finished', 1, { formId: 'ces' }))
    await foldEach(give('finished', 1, { offerId: checkout.id }))
    expect(await outcomesOf()).toEqual(Array.from({ length: 3 }, () => 'unmatched finished'))
    expect(await given.queue()).toEqual(['nps waiting'])
    expect(await given.prisma.queueRow.findMany()).toMatchObject([{ answerStatus: null, startedAt: null }])
  })

  it('counts before the visit is confirmed, and in the same batch as everything else', async () => {
    await given.fold(context, checkout, shown, give('partial', 1), give('finished', 1), confirmation)
    expect(await outcomesOf()).toEqual(['recorded partial', 'recorded finished'])
    expect(await given.queue()).toEqual(['nps delivered'])
  })

  it('takes a form that it ends out of the queue: no visit gets it, no tick changes it, and its slot is free', async () => {
    const expiring = contextOf([{ ...nps, frequency: { repeat: 'always' }, expiresAfter: '10m' }])
    await foldEach(identifyRequested({ received: at(-MINUTE) }), checkout, shown, give('finished', 1))
    await given.tick(expiring, 20 * MINUTE)
    expect(await given.queue()).toEqual(['nps answered'])
    expect(await given.fold(context, visit({ received: at(20 * MINUTE) }))).toMatchObject([{ offer: null }])
    expect((await readQueue(given.db, ada)).waiting).toEqual([])
    await foldEach(eventTracked({ received: at(21 * MINUTE) }))
    expect(await given.queue()).toEqual(['nps answered', 'nps waiting'])
    await foldEach(confirmation)
    expect(await given.queue()).toEqual(['nps delivered', 'nps waiting'])
  })

  it('counts after its form has expired or was removed from the workspace', async () => {
    const expiring = contextOf([{ ...nps, expiresAfter: '10m' }])
    await given.fold(expiring, checkout)
    await given.tick(expiring, 11 * MINUTE)
    await given.fold(contextOf([]), give('finished', 12))
    expect(await outcomesOf()).toEqual(['recorded finished'])
    expect(await given.prisma.queueRow.findMany()).toMatchObject([{ state: 'expired', answerStatus: 'finished' }])
  })

  it('counts as a retried dead letter, by the state of its row then', async () => {
    await foldEach(checkout, shown, confirmation)
    const [early, late] = [await given.foldUnreadable(context), await given.foldUnreadable(context)]
    await given.retry(context, late, give('finished', 3))
    await given.retry(context, early, give('finished', 2))
    expect(await outcomesOf()).toEqual(['recorded finished', 'late finished'])
    expect(await given.prisma.queueRow.findMany()).toMatchObject([{ endedAt: new Date(at(3 * MINUTE)) }])
  })

  it('changes nothing in a rebuild, which takes it from form-events', async () => {
    await foldEach(checkout)
    await given.fold({ ...context, mode: 'rebuild' }, give('finished', 1))
    expect(await given.told()).toEqual(['FormQueued nps'])
    expect(await given.queue()).toEqual(['nps waiting'])
  })

  it('is shown with the row of its form', async () => {
    await foldEach(identifyRequested({ received: at(-MINUTE) }), checkout, shown, confirmation)
    const none = { answerStatus: null, startedAt: null, endedAt: null }
    expect((await readForms(given.db, ada))?.queue).toMatchObject([{ state: 'delivered', ...none }])
    await foldEach(give('partial', 1), give('dismissed', 2))
    const times = { startedAt: at(MINUTE), endedAt: at(2 * MINUTE) }
    expect((await readForms(given.db, ada))?.queue).toMatchObject([{ answerStatus: 'dismissed', ...times }])
  })
})
