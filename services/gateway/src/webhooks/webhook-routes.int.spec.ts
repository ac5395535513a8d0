import { randomUUID } from 'node:crypto'
import {
  DISABLED_IN_FILE,
  TEST_IS_SENT_ONCE,
  TOO_MANY_REPLAYS,
  TOO_MANY_REPLAYS_KEPT,
  TOO_MANY_TESTS,
  TOO_MANY_TESTS_A_DAY,
  WebhookDeliveries,
  WebhookDeliveryBegun,
  WebhookDeliveryDetail,
  WebhookEndpoints,
} from '@nextvisit/contracts'
import { readChanges } from '@nextvisit/operator-changes'
import { NOT_FOUND } from '@nextvisit/service-kit'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { type GatewayFixture, startGateway } from '../../test/gateway-fixture.ts'
import { startService } from '../../test/service-fixture.ts'

const INSTANT = '2026-11-02T10:00:00.000Z'
const ADA = 'c364d31e-5b0f-5a9e-8f5d-0c2f6a1b7e44'
const [DELIVERY, REPLAY, TEST] = [randomUUID(), randomUUID(), randomUUID()]
const POSITION = `${INSTANT}_${DELIVERY}`
const WEBHOOKS = '/v2/admin/webhooks'
const delivery = {
  deliveryId: DELIVERY,
  webhookId: randomUUID(),
  type: 'form.queued' as const,
  userId: ADA,
  status: 'failed' as const,
  attempts: 10,
  timestamp: INSTANT,
  createdAt: INSTANT,
}
const endpoint = {
  id: 'crm',
  url: 'https://crm.example.com/hook',
  include: [],
  state: 'live' as const,
  addedAt: INSTANT,
  behind: 0,
  pending: 0,
  failed: 1,
  replays: [],
}
/** The endpoints in the workspace file. */
const webhooks = ['crm', 'busy', 'used', 'off', 'gone'].map((id) => ({
  id,
  url: 'https://crm.example.com/hook',
  secret: 'sealed',
  addedAt: INSTANT,
}))
/**
 * The dispatcher knows the endpoint `crm`, and not yet `gone`. Of `busy`, replays and tests are too many, of `used`
 * those of 30 days and of a day. The workspace file disables `off`.
 */
const isKnown = ({ endpointId }: { readonly endpointId: string }) => ['crm', 'busy', 'off'].includes(endpointId)

let gateway: GatewayFixture
let service: Awaited<ReturnType<typeof startService>>
beforeAll(async () => {
  service = await startService({
    readEndpoints: async () => ({ webhooks: [endpoint], countedUpTo: 100_000 }),
    readDeliveries: async (query) =>
      isKnown(query) ? { deliveries: [delivery], next: query.limit === 1 ? POSITION : null, stale: true } : NOT_FOUND,
    readDelivery: async ({ deliveryId }) =>
      deliveryId === DELIVERY ? { ...delivery, body: '{}', attemptLog: [] } : NOT_FOUND,
    replay: async (command) => {
      if (command.endpointId === 'busy') return TOO_MANY_REPLAYS
      if (command.endpointId === 'used') return TOO_MANY_REPLAYS_KEPT
      return isKnown(command) ? { replayId: REPLAY } : NOT_FOUND
    },
    retryFailed: async (command) => (isKnown(command) ? { retried: 7 } : NOT_FOUND),
    retryDelivery: async ({ deliveryId }) => {
      if (deliveryId === TEST) return TEST_IS_SENT_ONCE
      return deliveryId === DELIVERY ? { deliveryId } : NOT_FOUND
    },
    testEndpoint: async (command) => {
      if (command.endpointId === 'busy') return TOO_MANY_TESTS
      if (command.endpointId === 'used') return TOO_MANY_TESTS_A_DAY
      return isKnown(command) ? { deliveryId: DELIVERY } : NOT_FOUND
    },
    enableEndpoint: async (command) => {
      if (command.endpointId === 'off') return DISABLED_IN_FILE
      return isKnown(command) ? ('done' as const) : NOT_FOUND
    },
  })
  gateway = await startGateway({ project: { webhooks }, services: { 'webhook-dispatcher': service.url } })
})
afterAll(async () => {
  await gateway.stop()
  await service.stop()
})

const post = (path: string, body: object = {}) => gateway.post(`${WEBHOOKS}/${path}`, body, gateway.keys.admin)
/** Sends a command as curl does: without a body and its headers. */
const command = (path: string) => gateway.call('POST', `${WEBHOOKS}/${path}`, { 'x-api-key': gateway.keys.admin })
const asked = () => service.calls.at(-1)?.question

describe('the routes of webhooks (webhooks.md)', () => {
  it('list endpoints with their health', async () => {
    const { status, body } = await gateway.get(WEBHOOKS)
    expect([status, WebhookEndpoints.parse(body)]).toEqual([200, { webhooks: [endpoint], countedUpTo: 100_000 }])
    expect(asked()).toMatchObject({ project: 'shop' })
  })

  it('write commands to the log with the name of their key, and how they ended', async () => {
    await command('crm/test')
    await command('busy/test')
    await command('crm/enable')
    const connection = { brokers: inject('kafkaBrokers').split(','), clientId: 'spec' }
    const read = async () => (await readChanges(connection, { organization: gateway.config.id, limit: 3 })).changes
    // Answers do not wait for the ends.
    await expect.poll(read, { timeout: 20_000 }).toMatchObject([
      { kind: 'webhook.enable', target: 'crm', outcome: 'made', actor: { kind: 'key', isVerified: true } },
      { kind: 'webhook.test', target: 'busy', outcome: 'refused', reason: TOO_MANY_TESTS },
      { kind: 'webhook.test', target: 'crm', outcome: 'made', project: 'shop' },
    ])
    const names = gateway.config.projects.flatMap(({ keys }) => keys.map(({ name }) => name))
    expect(names).toContain((await read())[0]?.actor.name)
    await post('other/test')
    expect(await read()).toMatchObject([{ kind: 'webhook.enable' }, { target: 'busy' }, { target: 'crm' }])
  })

  it('do nothing while commands cannot be written to the log, and delay no user events', async () => {
    const calls = service.calls.length
    const other = await startGateway({
      changesTopic: 'no-such-topic',
      project: { webhooks },
      services: { 'webhook-dispatcher': service.url },
    })
    onTestFinished(other.stop)
    const headers = { 'x-api-key': other.keys.admin }
    const test = async () => (await other.call('POST', `${WEBHOOKS}/crm/test`, headers)).status
    const tracking = new AbortController()
    const refused = (async () => {
      const statuses = [await test()]
      while (!tracking.signal.aborted) statuses.push(await test())
      return new Set(statuses)
    })()
    const tracked: number[] = []
    for (const eventName of ['a', 'b', 'c']) tracked.push((await other.track({ userName: 'ada', eventName })).status)
    tracking.abort()
    expect(tracked).toEqual([202, 202, 202])
    expect(await refused).toEqual(new Set([503]))
    expect(service.calls).toHaveLength(calls)
  })

  it('list deliveries in pages, by status and user', async () => {
    const path = `${WEBHOOKS}/crm/deliveries?status=failed&user=${ADA}&limit=1`
    const first = WebhookDeliveries.parse((await gateway.get(path)).body)
    expect(first).toEqual({ deliveries: [delivery], next: POSITION, stale: true })
    expect(asked()).toMatchObject({ endpointId: 'crm', status: 'failed', userId: ADA, limit: 1 })
    await gateway.get(`${WEBHOOKS}/crm/deliveries?after=${first.next}`)
    expect(asked()).toMatchObject({ limit: 100, after: POSITION })
  })

  it('read a delivery with its body and attempts', async () => {
    const { status, body } = await gateway.get(`${WEBHOOKS}/crm/deliveries/${DELIVERY}`)
    expect([status, WebhookDeliveryDetail.parse(body)]).toMatchObject([200, { deliveryId: DELIVERY, body: '{}' }])
  })

  it('begin a replay, in instants of any form', async () => {
    const range = { from: '2026-11-01T01:00:00+01:00', to: '2026-11-02T00:00Z' }
    const { status, body } = await post('crm/replay', { ...range, events: ['form.queued'], unknown: 1 })
    expect([status, body]).toEqual([202, { replayId: REPLAY }])
    const sent = { from: '2026-11-01T00:00:00.000Z', to: '2026-11-02T00:00:00.000Z', events: ['form.queued'] }
    expect(asked()).toMatchObject({ endpointId: 'crm', ...sent })
  })

  it('take days, and name what is missing if there is no body', async () => {
    await post('crm/replay', { from: '2026-11-01', to: '2026-11-02' })
    expect(asked()).toMatchObject({ from: '2026-11-01T00:00:00.000Z', to: '2026-11-02T00:00:00.000Z' })
    for (const path of ['crm/replay', 'crm/retry'])
      expect((await command(path)).body).toMatchObject({
        status: 400,
        message: expect.stringMatching(/^from must be .* or a day/),
      })
  })

  it('retry failed deliveries of a range', async () => {
    const { status, body } = await post('crm/retry', { from: INSTANT })
    expect([status, body]).toEqual([200, { retried: 7 }])
    expect(asked()).toMatchObject({ endpointId: 'crm', from: INSTANT })
  })

  it.each([`crm/deliveries/${DELIVERY}/retry`, 'crm/test'])('accept %s without a body', async (path) => {
    const { status, body } = await command(path)
    expect([status, WebhookDeliveryBegun.parse(body)]).toEqual([202, { deliveryId: DELIVERY }])
  })

  it('enable an endpoint', async () => {
    expect(await command('crm/enable')).toMatchObject({ status: 204, text: '' })
  })

  it('ignore a body, and an Idempotency-Key, where there is none', async () => {
    const headers = { 'x-api-key': gateway.keys.admin, 'idempotency-key': 'a b', 'content-type': 'text/plain' }
    expect(await gateway.call('POST', `${WEBHOOKS}/crm/test`, headers, 'x'.repeat(200_000))).toMatchObject({
      status: 202,
    })
    expect(await command('crm/test')).toMatchObject({ status: 202 })
  })

  it('answer 409 to a command that has no effect', async () => {
    expect((await post('busy/replay', { from: INSTANT })).body).toMatchObject({
      status: 409,
      message: 'The endpoint has 10 replays that are not complete: wait until one is',
    })
    expect((await command('busy/test')).body).toMatchObject({
      status: 409,
      message: 'The endpoint has 100 tests that are not attempted yet: wait until one is',
    })
    expect((await post('used/replay', { from: INSTANT })).body).toMatchObject({
      status: 409,
      message: 'The endpoint has had 100 replays in 30 days: one replay can send a longer range',
    })
    expect((await command('used/test')).body).toMatchObject({
      status: 409,
      message: 'The endpoint has had 1000 tests in 24 hours',
    })
    expect((await command(`crm/deliveries/${TEST}/retry`)).body).toMatchObject({
      status: 409,
      message: 'A test is sent once: send another one',
    })
    expect((await command('off/enable')).body).toMatchObject({
      status: 409,
      message: 'The workspace file disables this endpoint: set enabled: true there, and apply it',
    })
  })

  it.each([
    ['GET', 'other/deliveries', 'Webhook endpoint'],
    ['GET', '__proto__/deliveries', 'Webhook endpoint'],
    ['GET', `crm/deliveries/${ADA}`, 'Delivery'],
    ['GET', 'crm/deliveries/1', 'Delivery'],
    ['POST', 'other/replay', 'Webhook endpoint'],
    ['POST', 'other/retry', 'Webhook endpoint'],
    ['POST', 'other/test', 'Webhook endpoint'],
    ['POST', '%7BendpointId%7D/test', 'Webhook endpoint'],
    ['POST', 'other/enable', 'Webhook endpoint'],
    ['POST', 'gone/enable', 'Webhook endpoint'],
    ['POST', `other/deliveries/${DELIVERY}/retry`, 'Delivery'],
    ['POST', `crm/deliveries/${ADA}/retry`, 'Delivery'],
  ])('answer 404 for %s %s', async (method, path, what) => {
    const { status, body } =
      method === 'GET' ? await gateway.get(`${WEBHOOKS}/${path}`) : await post(path, { from: INSTANT })
    expect([status, body]).toEqual([404, { status: 404, error: 'Not Found', message: `${what} not found` }])
  })

  it('answer 503 with Retry-After and the name of the service while it does not answer', async () => {
    const alone = await startGateway({ besides: gateway })
    const answers = [
      await alone.get(WEBHOOKS),
      await alone.get(`${WEBHOOKS}/crm/deliveries`),
      await alone.get(`${WEBHOOKS}/crm/deliveries/${DELIVERY}`),
      await alone.post(`${WEBHOOKS}/crm/replay`, { from: INSTANT }, alone.keys.admin),
      await alone.post(`${WEBHOOKS}/crm/enable`, {}, alone.keys.admin),
    ]
    await alone.stop()
    for (const { status, headers, body } of answers) {
      expect([status, headers['retry-after']]).toEqual([503, '1'])
      expect(body).toMatchObject({ message: expect.stringContaining('because the webhook dispatcher is late') })
    }
  })

  it('need an admin key', async () => {
    const { sdk } = gateway.keys
    expect((await gateway.post(`${WEBHOOKS}/crm/test`, {}, sdk)).status).toBe(403)
    expect((await gateway.call('GET', WEBHOOKS, { 'x-api-key': sdk })).status).toBe(403)
    expect((await gateway.call('POST', `${WEBHOOKS}/crm/test`)).status).toBe(401)
  })
})
