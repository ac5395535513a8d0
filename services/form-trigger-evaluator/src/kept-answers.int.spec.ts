import type { AnswerGiven, Form } from '@nextvisit/contracts'
import {
  answerGiven,
  eventTracked,
  identifyRequested,
  userErased,
  visit,
  visitAnswered,
} from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { at, contextOf, MINUTE, nps } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'

let given: GivenEvaluator
beforeAll(async () => {
  given = await givenEvaluator(inject('databaseUrl'))
})
afterEach(() => given.clear())
afterAll(() => given.stop())

const score = { form: 'nps', element: 'score' } as const
const asked: Partial<Form> = { ...nps, frequency: { until: 'answered' } }
const followUp: Partial<Form> = {
  id: 'follow-up',
  triggers: [{ answered: { form: 'nps', where: { answer: 'score', atMost: 6 } } }],
}

const checkout = (minute: number) => eventTracked({ received: at(minute * MINUTE) })
const visited = (minute: number) => visit({ received: at(minute * MINUTE) })

/** An answer to this offer of the form `nps`. */
function answered(minute: number, offerId: string, special: Partial<AnswerGiven> = {}): AnswerGiven {
  const answers = { score: 4 }
  return answerGiven({ received: at(minute * MINUTE), offerId, answers, elements: { score: 'nps' }, ...special })
}

async function offeredAt(context: ReturnType<typeof contextOf>, minute: number): Promise<string | undefined> {
  const [reply] = await given.fold(context, visited(minute))
  return reply?.kind === 'visit' ? reply.offer?.queuedId : undefined
}

/** Queues `nps` and returns the id of its row. */
async function givenOffer(context: ReturnType<typeof contextOf>): Promise<string> {
  await given.fold(context, identifyRequested({ received: at(0) }), checkout(1))
  const id = await offeredAt(context, 2)
  if (id === undefined) throw new Error('no form was offered')
  return id
}

const outcomesOf = async () => {
  const decided = await given.prisma.decision.findMany({ orderBy: { formId: 'asc' } })
  return decided.map(({ formId, outcome }) => `${formId} ${outcome}`)
}
const readAnswers = () =>
  given.prisma.$queryRaw<object[]>(sql`
    SELECT form_id AS "formId", status, answers, other_offers AS "otherOffers" FROM form_answers ORDER BY form_id`)

describe('a form that is asked until answered', () => {
  it('is queued again after it was shown and dismissed, and never again after it was finished', async () => {
    const context = contextOf([asked])
    const queuedId = await givenOffer(context)
    await given.fold(
      context,
      visitAnswered({ visitId: crypto.randomUUID(), queuedId, formId: 'nps', received: at(2 * MINUTE) }),
    )
    await given.fold(context, answered(3, queuedId, { status: 'dismissed', answers: {}, elements: {} }))
    const again = checkout(4)
    await given.fold(context, again)
    expect(await given.prisma.decision.findMany()).toMatchObject([{ outcome: 'queued', recordId: again.id }])
    const second = await offeredAt(context, 5)
    await given.fold(context, answered(6, second ?? queuedId), checkout(7))
    expect(await outcomesOf()).toEqual(['nps answered'])
  })

  it('is not offered to another device once the user has answered, although it waits', async () => {
    const context = contextOf([asked])
    await given.fold(context, identifyRequested({ received: at(0) }), checkout(1))
    await given.fold(context, answered(2, crypto.randomUUID()))
    const [reply] = await given.fold(context, visited(3))
    expect(reply).toMatchObject({ offer: null, moreWaiting: false })
  })
})

describe('an audience on answers', () => {
  const detractors = { answer: score, atMost: 6 } as const
  const segments = [{ id: 'detractors', where: detractors }]

  it.each([
    ['directly', { audience: detractors }],
    ['through a segment', { audience: { segment: 'detractors' } }],
  ])('includes the answers before a record, %s', async (_how, form) => {
    const context = contextOf([{ id: 'call', triggers: [{ event: 'Checkout Completed' }], ...form }], { segments })
    await given.fold(context, checkout(1))
    expect(await outcomesOf()).toEqual(['call not-in-audience'])
    await given.fold(context, answered(2, crypto.randomUUID(), { status: 'partial' }))
    await given.fold(context, checkout(3))
    expect(await outcomesOf()).toEqual(['call queued'])
  })
})

describe('a trigger on answers', () => {
  const context = contextOf([nps, followUp])

  it('queues a form that the next visit gets', async () => {
    const offer = await givenOffer(context)
    const fact = answered(3, offer)
    await given.fold(context, fact)
    expect(await given.prisma.decision.findMany({ where: { formId: 'follow-up' } })).toMatchObject([
      {
        outcome: 'queued',
        recordId: fact.id,
        gates: [{ gate: 'where', passed: true, compared: { actual: 4 } }, {}, {}, {}, {}, {}, {}],
      },
    ])
    const [reply] = await given.fold(context, visited(4))
    expect(reply).toMatchObject({ offer: { formId: 'follow-up' } })
  })

  it('names the answer that differs', async () => {
    const offer = await givenOffer(context)
    await given.fold(context, answered(3, offer, { answers: { score: 9 } }))
    expect(await outcomesOf()).toEqual(['follow-up answers-differ', 'nps queued'])
  })

  it('is set off once, by the answer that finishes an offer of the user', async () => {
    const offer = await givenOffer(context)
    await given.fold(context, answered(3, offer, { status: 'partial' }), answered(4, crypto.randomUUID()))
    expect(await outcomesOf()).toEqual(['nps queued'])
    const fact = answered(5, offer)
    await given.fold(context, fact, answered(6, offer, { answers: { score: 9 } }))
    expect(await given.prisma.decision.findMany({ where: { formId: 'follow-up' } })).toMatchObject([
      { outcome: 'queued', recordId: fact.id },
    ])
    // The log may have a record twice.
    await given.fold(context, fact)
    expect(await given.prisma.queueRow.count({ where: { formId: 'follow-up' } })).toBe(1)
  })
})

describe('the kept answers of a user', () => {
  it('have no texts, and are the same in a rebuild under any catalog', async () => {
    const second = crypto.randomUUID()
    const answers = { reason: 'slow', score: 4 }
    const facts = [
      answered(1, crypto.randomUUID(), { answers, elements: { reason: 'text', score: 'nps' } }),
      answered(2, second, { status: 'partial', answers: { score: 9 } }),
      answered(3, crypto.randomUUID(), { formId: 'csat', status: 'dismissed' }),
    ]
    await given.fold(contextOf([asked, followUp]), ...facts)
    const live = await readAnswers()
    expect(live).toEqual([
      { formId: 'csat', status: 'dismissed', answers: { score: 4 }, otherOffers: {} },
      { formId: 'nps', status: 'finished', answers: { reason: null, score: 4 }, otherOffers: { [second]: false } },
    ])
    await given.clear()
    for (const fact of facts) await given.fold({ ...contextOf([]), mode: 'rebuild' }, fact)
    expect(await readAnswers()).toEqual(live)
    expect(await given.told()).toEqual([])
  })

  it('become those of a finished offer, and do not come back with a later answer to one that has ended', async () => {
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()]
    const context = contextOf([asked])
    await given.fold(context, answered(1, first, { status: 'partial', answers: { score: 2 } }))
    await given.fold(context, answered(2, second, { status: 'partial', answers: { score: 3 } }))
    await given.fold(context, answered(3, first, { answers: { score: 8 } }))
    expect(await readAnswers()).toMatchObject([{ answers: { score: 8 }, otherOffers: { [second]: false } }])
    await given.fold(context, answered(4, second, { answers: { score: 9 } }))
    const before = await readAnswers()
    await given.fold(context, answered(5, first, { status: 'partial', answers: { score: 2 } }))
    expect(await readAnswers()).toEqual(before)
    expect(before).toMatchObject([{ answers: { score: 9 }, otherOffers: { [first]: true } }])
  })

  it('are deleted with the user', async () => {
    const context = contextOf([asked])
    await given.fold(context, identifyRequested({ received: at(0) }), answered(1, crypto.randomUUID()))
    await given.fold(context, userErased({ received: at(2 * MINUTE) }))
    expect(await readAnswers()).toEqual([])
  })
})
