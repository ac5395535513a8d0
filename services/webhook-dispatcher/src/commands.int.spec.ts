import { randomUUID } from 'node:crypto'
import { sql } from '@nextvisit/database'
import { describe, expect, it } from 'vitest'
import { ADDED_AT, newSecret, PROJECT } from '../test/given-catalog.ts'
import { givenSenders, PARTITIONS } from '../test/given-sender.ts'
import { type Received, startReceiver } from '../test/start-receiver.ts'
import { Webhook } from 'standardwebhooks'
import { enableEndpoint, testEndpoint } from './endpoint-commands.ts'
import { findDelivery } from './find-delivery.ts'
import { retryDelivery, retryFailed } from './retry-deliveries.ts'

const given = givenSenders()
const PATIENT = { timeout: 20_000 }
const DAY_MS = 86_400_000
const CRM = { ...PROJECT, endpointId: 'crm' }
const always = { now: new Date(), signal: new AbortController().signal }

const statuses = async () => (await given.readDeliveries()).map(({ status }) => status)
const retryOne = (deliveryId: string | undefined) =>
  retryDelivery(given.db(), { ...CRM, deliveryId: deliveryId ?? '' }, new Date())

const find = (deliveryId: string, own: object = {}) =>
  findDelivery(given.db(), { ...CRM, deliveryId, ...own }, given.catalog())

/** Begins a test of an endpoint. Returns the id of its delivery. */
async function test(endpoint = CRM): Promise<string> {
  const begun = await testEndpoint(given.db(), endpoint, new Date())
  if (typeof begun === 'string') throw new Error(begun)
  return begun.deliveryId
}

const at = (hour: number) => `2026-11-02T${hour}:00:00.000Z`
const orderOf = (all: readonly { readonly userId: string; readonly webhookId: string }[], user = '') =>
  all.filter(({ userId }) => userId === user).map(({ webhookId }) => webhookId)

function idOf({ headers }: Received): string {
  return String(headers['webhook-id'])
}

describe('a retry', { timeout: 60_000 }, () => {
  it.each(['failed', 'delivered'] as const)('sends a %s delivery again, with the same id and body', async (status) => {
    const { url, received } = await startReceiver()
    given.setWebhooks({ id: 'crm', url })
    const webhookId = randomUUID()
    const [deliveryId] = await given.givenDeliveries([{ webhookId, status, round: 10 }])
    await given.startSender()
    expect(await retryOne(deliveryId)).toBe('retried')
    await expect.poll(() => received.length, PATIENT).toBe(1)
    await expect.poll(statuses, PATIENT).toEqual(['delivered'])
    expect(received.map(idOf)).toEqual([webhookId])
    expect((await given.readDeliveries())[0]).toMatchObject({ body: received[0]?.body, round: 1 })
  })

  it('sends a pending delivery now, and does not pass earlier ones of its user', async () => {
    const { url, received, answerWith } = await startReceiver({
      answer: (_, response) => response.writeHead(500).end(),
    })
    given.setWebhooks({ id: 'crm', url })
    const userId = randomUUID()
    const [first, second] = [randomUUID(), randomUUID()]
    const [, later] = await given.givenDeliveries([
      { userId, webhookId: first },
      { userId, webhookId: second },
    ])
    await given.startSender({ retryDelaysMs: [DAY_MS] })
    await expect.poll(given.readAttempts, PATIENT).toHaveLength(1)
    answerWith((_, response) => response.end())
    expect(await retryOne(later)).toBe('retried')
    await expect.poll(statuses, PATIENT).toEqual(['delivered', 'delivered'])
    expect(received.map(idOf)).toEqual([first, first, second])
  })

  it('begins a new round of attempts', async () => {
    const { url, received } = await startReceiver({ answer: (_, response) => response.writeHead(500).end() })
    given.setWebhooks({ id: 'crm', url })
    const [deliveryId] = await given.givenDeliveries([{}])
    await given.startSender({ retryDelaysMs: [1] })
    await expect.poll(statuses, PATIENT).toEqual(['failed'])
    await retryOne(deliveryId)
    await expect
      .poll(async () => (await given.readDeliveries())[0], PATIENT)
      .toMatchObject({ status: 'failed', attempts: 4 })
    expect(received).toHaveLength(4)
    expect((await given.readAttempts()).map(({ number }) => number)).toEqual([1, 2, 3, 4])
  })

  it('keeps the latest 100 attempts, however often it is asked for', async () => {
    const { url } = await startReceiver()
    given.setWebhooks({ id: 'crm', url })
    const [deliveryId] = await given.givenDeliveries([{ status: 'delivered' }])
    await given.db().$executeRaw(sql`UPDATE deliveries SET attempts = 101`)
    await given.db().$executeRaw(sql`
      INSERT INTO attempts (delivery_id, number, at, duration_ms, outcome)
      SELECT ${deliveryId}::uuid, nth, now() - interval '1 hour', 1, 'delivered' FROM generate_series(2, 101) AS nth`)
    await given.startSender()
    await retryOne(deliveryId)
    await expect.poll(statuses, PATIENT).toEqual(['delivered'])
    const numbers = (await given.readAttempts()).map(({ number }) => number)
    expect([numbers.length, Math.min(...numbers), Math.max(...numbers)]).toEqual([100, 3, 102])
  })

  it('finds no delivery of another endpoint or project, nor an erased one', async () => {
    const [deliveryId = ''] = await given.givenDeliveries([{ status: 'failed' }])
    const of = (own: object) => retryDelivery(given.db(), { ...CRM, deliveryId, ...own }, new Date())
    expect(await of({ endpointId: 'other' })).toBeUndefined()
    expect(await of({ project: 'other' })).toBeUndefined()
    expect(await of({ deliveryId: randomUUID() })).toBeUndefined()
    expect(await statuses()).toEqual(['failed'])
  })

  it('takes the failed deliveries of a time, however many, in the order of each user', async () => {
    const { url, received } = await startReceiver()
    given.setWebhooks({ id: 'crm', url })
    const users = Array.from({ length: 20 }, () => randomUUID())
    const wanted = Array.from({ length: 2_400 }, (_, nth) => ({
      userId: users[nth % 20] ?? '',
      webhookId: randomUUID(),
      status: 'failed' as const,
      at: at(nth % 2 === 0 ? 10 : 11),
    }))
    await given.givenDeliveries(wanted)
    await given.givenDeliveries([
      { status: 'failed', at: at(12) },
      { status: 'failed', at: '2026-11-02T09:59:59.999Z' },
      { status: 'delivered', at: at(10) },
      { status: 'failed', at: at(10), endpointId: 'other' },
      { status: 'failed', at: at(10), type: 'webhook.test' },
    ])
    expect(await retryFailed(given.db(), { ...CRM, from: at(10), to: at(12) }, always)).toBe(2_400)
    expect(await retryFailed(given.db(), { ...CRM, from: at(10), to: at(12) }, always)).toBe(0)
    await given.startSender()
    await expect.poll(() => received.length, { timeout: 60_000 }).toBe(2_400)
    const sent = received.map((one) => ({ userId: JSON.parse(one.body).data.userId as string, webhookId: idOf(one) }))
    for (const user of users) expect(orderOf(sent, user)).toEqual(orderOf(wanted, user))
  })

  it('and the end of a turn wait for each other', async () => {
    const { url } = await startReceiver()
    given.setWebhooks({ id: 'crm', url })
    const userId = randomUUID()
    const ids = await given.givenDeliveries(Array.from({ length: 20 }, () => ({ userId, status: 'failed' as const })))
    await given.startSender()
    // Each retry races with the result of the one before.
    for (const deliveryId of ids) await retryOne(deliveryId)
    await expect.poll(async () => new Set(await statuses()), PATIENT).toEqual(new Set(['delivered']))
    await expect.poll(given.readTurns, PATIENT).toEqual([])
  })
})

describe('the webhook-id of a request', () => {
  it('finds its delivery, and of several the latest, as the id of a delivery does', async () => {
    given.setWebhooks({ id: 'crm', url: 'https://crm.example' }, { id: 'other', url: 'https://other.example' })
    const [webhookId, replayId] = [randomUUID(), randomUUID()]
    const record = { webhookId, type: 'form.answered' as const, status: 'delivered' as const }
    const [live = ''] = await given.givenDeliveries([record])
    expect(await find(webhookId.toUpperCase())).toEqual({ ...CRM, deliveryId: live })
    await given.db().$executeRaw(sql`
      INSERT INTO replays (replay_id, organization, project, endpoint_id, number, from_at, to_at, requested_at, unplaced)
      VALUES (${replayId}::uuid, 'acme', 'shop', 'crm', 1, now(), now(), now(), '{}')`)
    const [replayed = ''] = await given.givenDeliveries([{ ...record, replayId }])
    await given
      .db()
      .$executeRaw(
        sql`UPDATE deliveries SET created_at = created_at + interval '1 s' WHERE delivery_id = ${replayed}::uuid`,
      )
    expect(await find(webhookId)).toEqual({ ...CRM, deliveryId: replayed })
    expect(await find(live)).toEqual({ ...CRM, deliveryId: live })
    expect(await find(randomUUID())).toBeUndefined()
    for (const id of [webhookId, live]) expect(await find(id, { endpointId: 'other' })).toBeUndefined()
    expect(await find(live, { endpointId: 'gone' })).toBeUndefined()
  })
})

describe('a test of an endpoint', { timeout: 60_000 }, () => {
  it('is one signed request, also if the endpoint is disabled and others wait', async () => {
    const secret = newSecret()
    const { url, received, answerWith } = await startReceiver()
    given.setWebhooks({ id: 'crm', url, secret, enabled: false })
    await given.givenDeliveries([{}])
    await given.startSender()
    const deliveryId = await test()
    await expect.poll(statuses, PATIENT).toEqual(['delivered', 'pending'])
    const [{ headers, body } = { headers: {}, body: '' }] = received
    expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({
      type: 'webhook.test',
      data: CRM,
    })
    expect(await given.readAttempts()).toMatchObject([{ deliveryId, outcome: 'delivered' }])

    answerWith((_, response) => response.writeHead(410).end())
    await test()
    await expect.poll(async () => (await statuses()).toSorted(), PATIENT).toEqual(['delivered', 'failed', 'pending'])
    expect(received).toHaveLength(2)
    // A test says nothing about the health of the endpoint.
    expect(await given.readHealth()).toBeUndefined()
  })

  it('comes before the deliveries that wait', async () => {
    const { url, received } = await startReceiver({
      answer: (_, response) => void setTimeout(() => response.end(), 20),
    })
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries(Array.from({ length: 2_000 }, () => ({})))
    await given.startSender()
    await expect.poll(() => received.length, PATIENT).toBeGreaterThan(0)
    const deliveryId = await test()
    await expect.poll(() => received.some((one) => idOf(one) === deliveryId), PATIENT).toBe(true)
    expect(received.length).toBeLessThan(1_000)
  })

  it('is refused while 100 others of the endpoint are pending', async () => {
    const { url } = await startReceiver()
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries([{}])
    for (let nth = 0; nth < 100; nth += 1) await test()
    await expect(test()).rejects.toThrow('too many tests')
    await expect(test({ ...CRM, endpointId: 'other' })).resolves.toBeDefined()
    expect(await given.readDeliveries()).toHaveLength(102)
    await given.startSender()
    await expect.poll(async () => (await given.readTurns()).length, PATIENT).toBe(1)
    await expect(test()).resolves.toBeDefined()
  })

  it('is refused after 1,000 others of the endpoint within a day', async () => {
    const given1000 = Array.from({ length: 1_000 }, () => ({
      type: 'webhook.test' as const,
      status: 'delivered' as const,
    }))
    await given.givenDeliveries(given1000)
    await given.givenDeliveries([{ status: 'delivered' }])
    await expect(test()).rejects.toThrow('too many tests in a day')
    await expect(test({ ...CRM, endpointId: 'other' })).resolves.toBeDefined()
    await given.db().$executeRaw(sql`
      UPDATE deliveries SET created_at = now() - interval '25 hours'
      WHERE delivery_id = (SELECT delivery_id FROM deliveries WHERE type = 'webhook.test' AND endpoint_id = 'crm' LIMIT 1)`)
    await expect(test()).resolves.toBeDefined()
    await expect(test()).rejects.toThrow('too many tests in a day')
  })

  it('is not retried', async () => {
    const [ended] = await given.givenDeliveries([{ type: 'webhook.test', status: 'failed' }])
    expect(await retryOne(ended)).toBe('a test is sent once')
    expect(await statuses()).toEqual(['failed'])
  })
})

describe('enabling an endpoint', { timeout: 60_000 }, () => {
  it('sends at once what waits since a 410', async () => {
    const { url, received, answerWith } = await startReceiver({
      answer: (_, response) => response.writeHead(500).end(),
    })
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries([{}])
    await given.startSender({ retryDelaysMs: [DAY_MS] })
    await expect.poll(given.readAttempts, PATIENT).toHaveLength(1)
    answerWith((_, response) => response.writeHead(410).end())
    await given.givenDeliveries([{}])
    await expect.poll(given.readHealth, PATIENT).toMatchObject({ disabledAt: expect.any(Date) })

    answerWith((_, response) => response.end())
    await enableEndpoint(given.db(), { ...CRM, addedAt: ADDED_AT }, { now: new Date(), partitions: PARTITIONS })
    await expect.poll(statuses, PATIENT).toEqual(['delivered', 'delivered'])
    expect(received).toHaveLength(4)
    expect(await given.readHealth()).toMatchObject({ disabledAt: null, because: null, failingSince: null })
  })

  it('has no effect on one that is enabled', async () => {
    const { url } = await startReceiver({ answer: (_, response) => response.writeHead(500).end() })
    given.setWebhooks({ id: 'crm', url })
    await given.givenDeliveries([{}])
    await given.startSender({ retryDelaysMs: [DAY_MS] })
    await expect.poll(given.readHealth, PATIENT).toMatchObject({ failingSince: expect.any(Date) })
    const [before] = await given.readTurns()
    await enableEndpoint(given.db(), { ...CRM, addedAt: ADDED_AT }, { now: new Date(), partitions: PARTITIONS })
    expect(await given.readTurns()).toEqual([before])
    expect(await given.readHealth()).toMatchObject({ failingSince: expect.any(Date) })
  })

  it('needs a row of this endpoint, not of one with the same id before', async () => {
    await given.db().$executeRaw(sql`
      INSERT INTO endpoints (organization, project, endpoint_id, added_at, disabled_at) VALUES ('acme', 'shop', 'crm', now(), now())`)
    await enableEndpoint(given.db(), { ...CRM, addedAt: ADDED_AT }, { now: new Date(), partitions: PARTITIONS })
    expect(await given.readHealth()).toMatchObject({ disabledAt: expect.any(Date) })
  })
})
