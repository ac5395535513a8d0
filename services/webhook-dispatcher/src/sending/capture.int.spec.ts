import { randomUUID } from 'node:crypto'
import type { KnownTraits, OfferAnswersAnswer } from '@nextvisit/contracts'
import { sql } from '@nextvisit/database'
import type { BatchedOutcome, CallOutcome } from '@nextvisit/service-kit'
import { describe, expect, it } from 'vitest'
import { PROJECT } from '../../test/given-catalog.ts'
import { givenSenders } from '../../test/given-sender.ts'
import { startReceiver } from '../../test/start-receiver.ts'
import { retryDelivery } from '../retry-deliveries.ts'

const given = givenSenders()
const PATIENT = { timeout: 20_000 }

type Answered<Answer> = () => Promise<CallOutcome<Answer>>

type TraitsAsked = BatchedOutcome<KnownTraits>

function profile(traits: KnownTraits['traits'], stale?: true): TraitsAsked {
  return { outcome: 'answered', answer: { existence: 'exists', traits, ...(stale && { stale }) } }
}

const answeredThat = (existence: 'missing' | 'unknown'): TraitsAsked => ({ outcome: 'answered', answer: { existence } })

/** The user projector and the answer collector, with the answers that they give. Counts their questions. */
function givenServices({
  readTraits = async () => profile({ plan: 'pro' }),
  readOfferAnswers = async () => ({ outcome: 'answered', answer: { answers: { score: 9 } } }),
}: {
  readonly readTraits?: () => Promise<TraitsAsked>
  readonly readOfferAnswers?: Answered<OfferAnswersAnswer>
} = {}) {
  const asked: object[] = []
  const calls = {
    readTraits: async (_partition: number, query: object) => (asked.push(query), readTraits()),
    answers: { readOfferAnswers: async (query: object) => (asked.push(query), readOfferAnswers()) },
  }
  return { asked, calls }
}

const statuses = async () => (await given.readDeliveries()).map(({ status }) => status)

describe('members of a body that other services have', { timeout: 60_000 }, () => {
  it('are written before the first attempt, and never change afterwards', async () => {
    const { url, received, answerWith } = await startReceiver({
      answer: (_, response) => response.writeHead(500).end(),
    })
    given.setWebhooks({ id: 'crm', url })
    const [userId, offerId] = [randomUUID(), randomUUID()]
    await given.givenDeliveries([{ userId, type: 'form.answered', data: { offerId }, capture: ['traits', 'answers'] }])
    let plan = 'pro'
    const { calls, asked } = givenServices({ readTraits: async () => profile({ plan }) })
    await given.startSender({ calls, retryDelaysMs: Array.from({ length: 100 }, () => 30) })
    await expect.poll(() => received.length, PATIENT).toBeGreaterThan(1)
    plan = 'free'
    answerWith((_, response) => response.end())
    await expect.poll(statuses, PATIENT).toEqual(['delivered'])

    const [delivery] = await given.readDeliveries()
    expect(JSON.parse(delivery?.body ?? '')).toMatchObject({
      type: 'form.answered',
      data: { userId, offerId, traits: { plan: 'pro' }, answers: { score: 9 } },
    })
    expect(new Set(received.map(({ body }) => body))).toEqual(new Set([delivery?.body]))
    expect(delivery?.capture).toEqual([])
    const place = { organization: 'acme', project: 'shop', userId }
    expect(asked).toEqual([place, { ...place, offerId }])
  })

  it('are those of the first delivery of the record in a replay, also before it is delivered', async () => {
    const { url, received, answerWith } = await startReceiver()
    given.setWebhooks({ id: 'crm', url })
    const record = { userId: randomUUID(), webhookId: randomUUID(), capture: ['traits'] }
    let plan = 0
    const { calls } = givenServices({ readTraits: async () => profile({ plan: (plan += 1) }) })
    await given.givenDeliveries([record, { ...record, replayId: randomUUID() }])
    await given.startSender({ calls })
    await expect.poll(statuses, PATIENT).toEqual(['delivered', 'delivered'])
    answerWith((_, response) => response.end())
    await given.givenDeliveries([{ ...record, replayId: randomUUID() }])
    await expect.poll(statuses, PATIENT).toEqual(['delivered', 'delivered', 'delivered'])
    expect(received).toHaveLength(3)
    expect(new Set(received.map(({ body }) => body)).size).toBe(1)
  })

  it('are absent of a user without a profile', async () => {
    const { url, received } = await startReceiver()
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries([{ capture: ['traits'] }])
    const { calls } = givenServices({ readTraits: async () => answeredThat('missing') })
    await given.startSender({ calls })
    await expect.poll(statuses, PATIENT).toEqual(['delivered'])
    expect(JSON.parse(received[0]?.body ?? '').data).not.toHaveProperty('traits')
  })

  it.each([
    ['down', { outcome: 'unavailable' }],
    ['behind', answeredThat('unknown')],
    ['answering with an old profile', profile({ plan: 'old' }, true)],
  ] as const)('delay the turn while the service is %s, and no attempt counts', async (_, answer) => {
    const { url, received } = await startReceiver()
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries([{ capture: ['traits'] }])
    let asked = 0
    let clockMs = Date.now() + 1_000
    const { calls } = givenServices({
      readTraits: async () => ((asked += 1) === 1 ? answer : profile({ plan: 'pro' })),
    })
    await given.startSender({ calls, now: () => new Date(clockMs) })
    await expect.poll(() => asked, PATIENT).toBe(1)
    await expect.poll(async () => Date.parse((await given.readTurns())[0]?.nextAt ?? '') - clockMs, PATIENT).toBe(3_000)
    expect([received.length, (await given.readDeliveries())[0]?.attempts]).toEqual([0, 0])
    clockMs += 3_000
    await expect.poll(statuses, PATIENT).toEqual(['delivered'])
    expect(received[0]?.body).toContain('"traits":{"plan":"pro"}')
  })

  it('may be old once the delivery has waited for a minute', async () => {
    const { url } = await startReceiver()
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries([{ capture: ['traits'] }])
    const { calls } = givenServices({ readTraits: async () => profile({ plan: 'old' }, true) })
    await given.startSender({ calls, now: () => new Date(Date.now() + 61_000) })
    await expect.poll(statuses, PATIENT).toEqual(['delivered'])
  })

  it('that do not exist fail the delivery, until a retry finds them, and delay no later one', async () => {
    const { url, received } = await startReceiver()
    given.setWebhooks({ id: 'crm', url })
    const userId = randomUUID()
    const [deliveryId = ''] = await given.givenDeliveries([
      { userId, type: 'form.answered', data: { offerId: randomUUID() }, capture: ['answers'] },
      { userId, type: 'user.erased' },
    ])
    let outcome: CallOutcome<OfferAnswersAnswer> = { outcome: 'not-found' }
    const { calls } = givenServices({ readOfferAnswers: async () => outcome })
    await given.startSender({ calls })
    await expect.poll(statuses, PATIENT).toEqual(['failed', 'delivered'])
    expect(received.map(({ body }) => JSON.parse(body).type)).toEqual(['user.erased'])
    // The collector has folded a dead letter again.
    outcome = { outcome: 'answered', answer: { answers: { score: 9 } } }
    await retryDelivery(given.db(), { ...PROJECT, endpointId: 'crm', deliveryId }, new Date())
    await expect.poll(statuses, PATIENT).toEqual(['delivered', 'delivered'])
    expect(JSON.parse(received[1]?.body ?? '')).toMatchObject({ data: { answers: { score: 9 } } })
  })

  it('are not written to a delivery that is erased meanwhile', async () => {
    const { url, received } = await startReceiver()
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries([{ capture: ['traits'] }])
    const { calls } = givenServices({
      readTraits: async () => {
        await given.db().executeAll([sql`DELETE FROM deliveries`])
        return profile({ plan: 'pro' })
      },
    })
    await given.startSender({ calls })
    await expect.poll(given.readTurns, PATIENT).toEqual([])
    expect([received, await given.readDeliveries(), await given.readAttempts()]).toEqual([[], [], []])
  })
})
