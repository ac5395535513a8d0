import { HEADERS } from '@nextvisit/contracts'
import { until } from '@nextvisit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GatewayFixture, startGateway } from '../../test/gateway-fixture.ts'
import { replyAsEvaluator } from '../../test/reply-as-evaluator.ts'
import { REQUEST_BUDGET_MS } from '../http/request-budget.ts'

const QUEUED_ID = '0192aa00-0000-5000-8000-000000000001'
const project = {
  forms: [{ id: 'nps', triggers: [{ event: 'Checkout Completed' }] }],
  sdk: { pingAgainInSeconds: 30, pingOnNextPageVisit: false, onPageDelaySeconds: 2 },
}

let gateway: GatewayFixture
let evaluator: ReturnType<typeof replyAsEvaluator>
beforeAll(async () => {
  gateway = await startGateway({ project })
  evaluator = replyAsEvaluator(gateway)
  await gateway.identify({ userName: 'ada' })
})
afterAll(async () => {
  evaluator.stop()
  await gateway.stop()
})

const track = (eventName: string, more: object = {}) => gateway.track({ userName: 'ada', eventName, ...more })

describe('the evaluator’s reply (design.md, Replies)', () => {
  it.each([
    [0, 'Event recorded.'],
    [1, "Event recorded. 1 form queued for the user's next visit."],
    [2, "Event recorded. 2 forms queued for the user's next visit."],
  ])(
    'is in the answer to a tracked event: %d forms (decisions.md, Track event: message)',
    async (formsQueued, message) => {
      const answer = await evaluator.whileReplying(
        () => track('checkout completed'),
        (recordId) => ({ kind: 'track', recordId, formsQueued }),
      )
      expect(answer.body).toMatchObject({ triggersEvaluated: true, formsQueued, message })
    },
  )

  it('brings the form to a visit; a VisitAnswered with the visit’s `received` confirms it', async () => {
    const answer = await evaluator.whileReplying(
      () => gateway.visit({ userName: 'ada' }),
      (recordId) => ({ kind: 'visit', recordId, offer: { queuedId: QUEUED_ID, formId: 'nps' }, moreWaiting: true }),
    )
    expect(answer.body).toMatchObject({
      nextFeedbackId: 'nps',
      nextFeedback: { offerId: QUEUED_ID, formId: 'nps' },
      pingAgainIn: 30,
      pingOnNextPageVisit: true,
      onPageDelay: 2,
    })
    const visitId = answer.headers['x-request-id']
    const confirmation = async () =>
      (await gateway.records())
        .map(({ fact }) => fact)
        .find((fact) => fact.type === 'VisitAnswered' && fact.visitId === visitId)
    await until(async () => (await confirmation()) !== undefined)
    const visit = (await gateway.records()).find(({ fact }) => fact.id === visitId)?.fact
    expect(await confirmation()).toMatchObject({
      formId: 'nps',
      queuedId: QUEUED_ID,
      received: visit?.received,
      environment: 'P',
      userId: visit?.userId,
    })
  })

  it('brings the form to a repeat of the visit, which also confirms it, since the first answer may be lost', async () => {
    const headers = { 'content-type': 'application/json', 'x-api-key': gateway.keys.sdk, 'idempotency-key': 'visit-1' }
    const visit = (of: GatewayFixture = gateway) =>
      of.call('POST', '/v2/sdk/identify-user', headers, '{"userName":"ada","repeatMayDiffer":true}')
    const first = await evaluator.whileReplying(visit, (recordId) => {
      return { kind: 'visit', recordId, offer: { queuedId: QUEUED_ID, formId: 'nps' }, moreWaiting: false }
    })
    const visitId = first.headers['x-request-id']
    const confirmations = async () =>
      (await gateway.records())
        .map(({ fact }) => fact)
        .filter((fact) => fact.type === 'VisitAnswered' && fact.visitId === visitId)
    await until(async () => (await confirmations()).length === 1)

    const other = await startGateway({ project, besides: gateway })
    const repeat = await visit(other)
    expect([repeat.text, repeat.headers['idempotent-replayed']]).toEqual([first.text, 'true'])
    await until(async () => (await confirmations()).length === 2)
    await other.stop()
    const [one, again] = await confirmations()
    expect(again).toEqual(one)
  })

  it('brings no form and no confirmation if none waits', async () => {
    const answer = await evaluator.whileReplying(
      () => gateway.visit({ userName: 'bea' }),
      (recordId) => ({ kind: 'visit', recordId, offer: null, moreWaiting: false }),
    )
    expect(answer.body).toEqual({
      message: 'ok',
      userId: expect.any(String),
      pingAgainIn: 30,
      pingOnNextPageVisit: false,
      onPageDelay: 2,
    })
  })

  it('is not awaited if no form may react', async () => {
    const answer = await track('Something Else')
    expect(answer.body).toMatchObject({ triggersEvaluated: true, formsQueued: 0, message: 'Event recorded.' })
    const old = await track('Checkout Completed', { occurredAt: new Date(Date.now() - 20 * 60_000).toISOString() })
    expect(old.body).toMatchObject({
      triggersEvaluated: false,
      message: expect.stringContaining('older than 15 minutes'),
    })
    const ids = new Set([answer.body['requestId'], old.body['requestId']])
    const records = (await gateway.records()).filter(({ fact }) => ids.has(fact.id))
    expect(records.map(({ headers }) => HEADERS.replyTo in headers)).toEqual([false, false])
  })

  it('may come too late: the answer is 202, evaluated later (decisions.md, Track event)', async () => {
    const hasty = await startGateway({ project, requestBudgetMs: REQUEST_BUDGET_MS, besides: gateway })
    const answer = await hasty.track({ userName: 'ada', eventName: 'Checkout Completed' })
    const visit = await hasty.visit({ userName: 'ada' })
    await hasty.stop()
    expect(answer.status).toBe(202)
    expect(answer.body).toMatchObject({
      triggersEvaluated: false,
      formsQueued: 0,
      message: 'Event recorded. Form triggers are evaluated later.',
    })
    expect(visit.status).toBe(200)
    expect(visit.body).not.toHaveProperty('nextFeedbackId')
  })

  it('is told from invalid messages and from replies to other records', async () => {
    const answer = await evaluator.whileReplying(
      () => track('Checkout Completed'),
      (recordId) => {
        void evaluator.redis.publish(`nextvisit:replies:other`, 'x')
        return { kind: 'track', recordId, formsQueued: 3 }
      },
    )
    expect(answer.body).toMatchObject({ formsQueued: 3 })
  })
})

describe('a gateway without Redis (decisions.md, Busy and broken)', () => {
  it('still records identifies, events and visits, and awaits no replies', async () => {
    const without = await startGateway({ project, redisUrl: 'redis://127.0.0.1:1', besides: gateway })
    const answers = [
      await without.identify({ userName: 'ada' }),
      await without.track({ userName: 'ada', eventName: 'Checkout Completed' }),
      await without.visit({ userName: 'ada' }),
    ]
    const ready = await without.get('/readyz')
    await without.stop()
    expect(answers.map(({ status }) => status)).toEqual([200, 202, 200])
    expect(answers[1]?.body).toMatchObject({ message: 'Event recorded. Form triggers are evaluated later.' })
    expect(ready.status).toBe(200)
  })
})
