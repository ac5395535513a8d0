import { DONE } from '@nextvisit/contracts'
import { createFaultProxy, type FaultProxy, produceApiKey, until } from '@nextvisit/testing'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type GatewayFixture, startGateway } from '../../test/gateway-fixture.ts'
import { releasedIn, reservationsIn } from '../../test/given-services.ts'
import { startService } from '../../test/service-fixture.ts'
import { REQUEST_BUDGET_MS } from '../http/request-budget.ts'

/** The exact body of every error. */
const unavailable = (message: unknown) => ({ status: 503, error: 'Service Unavailable', message })

describe('a gateway without Kafka (decisions.md, Busy and broken)', () => {
  let gateway: GatewayFixture
  beforeAll(async () => {
    gateway = await startGateway({ brokers: '127.0.0.1:1' })
  })
  afterAll(() => gateway.stop())

  it('answers 503 with Retry-After at once, and never an acknowledgement', async () => {
    const answers = await Promise.all([
      gateway.identify({ userName: 'ada' }),
      gateway.track({ userName: 'ada', eventName: 'a' }),
      gateway.visit({ userName: 'ada' }),
    ])
    for (const { status, headers, body } of answers) {
      expect(status).toBe(503)
      expect(headers['retry-after']).toMatch(/^\d+$/)
      expect(body).toEqual({ status: 503, error: 'Service Unavailable', message: expect.any(String) })
    }
  })

  it('still refuses invalid requests', async () => {
    expect((await gateway.identify({})).status).toBe(401)
    expect((await gateway.track({ userName: 'ada' })).status).toBe(400)
  })

  it('is live, but not ready, and states why', async () => {
    const ready = await gateway.get('/readyz')
    expect(ready.body).toEqual(unavailable('Kafka was not reached yet'))
    expect(ready.headers['retry-after']).toMatch(/^\d+$/)
    expect((await gateway.get('/livez')).status).toBe(200)
  })
})

describe('a gateway whose Kafka fails under load (decisions.md, Busy and broken)', () => {
  let proxy: FaultProxy
  let metering: Awaited<ReturnType<typeof startService>>
  let registry: Awaited<ReturnType<typeof startService>>
  let gateway: GatewayFixture
  beforeAll(async () => {
    const [host = '', port] = inject('kafkaBrokers').split(':')
    proxy = createFaultProxy({ host, port: Number(port) })
    await proxy.start()
    metering = await startService({
      reserve: async ({ questions }) => ({ answers: questions.map(() => 'granted') }),
      release: async ({ questions }) => ({ answers: questions.map(() => DONE) }),
    })
    registry = await startService({
      claim: async ({ questions }) => ({ answers: questions.map(({ slugs }) => slugs.map(() => 'new')) }),
      releaseClaims: async ({ questions }) => ({ answers: questions.map(() => DONE) }),
    })
    const services = { metering: metering.url, 'trait-registry': registry.url }
    gateway = await startGateway({
      addressFor: proxy.addressFor,
      requestBudgetMs: REQUEST_BUDGET_MS,
      plan: { eventsPerMonth: 1_000 },
      services,
    })
    await gateway.identify({ userName: 'ada' })
  })
  afterAll(async () => {
    await gateway.stop()
    await metering.stop()
    await registry.stop()
    await proxy.stop()
  })

  const track = () => gateway.track({ userName: 'ada', eventName: 'a' })

  const released = () => releasedIn(metering.calls)
  const recover = async () => {
    proxy.setLink('open')
    proxy.onResponse(() => 'pass')
    proxy.cutAll()
    await until(async () => (await track()).status === 202)
  }

  it('keeps the reservation of a record that is in the log without an ack', async () => {
    proxy.onResponse(({ apiKey }) => (apiKey === produceApiKey ? 'lose' : 'pass'))
    const answers = await Promise.all(Array.from({ length: 10 }, track))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
    const unheard = new Set(answers.map(({ headers }) => headers['x-request-id']))
    await recover()
    const inLog = (await gateway.records()).map(({ fact }) => fact.id)
    expect(inLog.some((id) => unheard.has(id))).toBe(true)
    expect(inLog.filter((id) => released().includes(id))).toEqual([])
  })

  it('records no item of a batch after an earlier item of its user whose record may be missing in the log', async () => {
    let lost = 0
    // The publisher repeats a request whose answer is lost once. The next request is answered.
    proxy.onResponse(({ apiKey }) => (apiKey === produceApiKey && (lost += 1) <= 2 ? 'lose' : 'pass'))
    const items = Array.from({ length: 300 }, () => ({ type: 'track', userName: 'ada', eventName: 'a' }))
    const { body } = await gateway.post('/v2/admin/batch', { items })
    const results = body['results'] as readonly { readonly status: number }[]
    expect(results.map(({ status }) => status)).toEqual(items.map(() => 503))
    await recover()
  })

  it('gives back the room and names of records that are known to be unpublished, and recovers', async () => {
    proxy.setLink('black-hole')
    proxy.cutAll()
    const trackNew = () => gateway.track({ userName: 'ada', eventName: 'a new one' })
    const answers = await Promise.all(Array.from({ length: 30 }, trackNew))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
    const refusedAtOnce = await track()
    expect(refusedAtOnce.headers['retry-after']).toMatch(/^\d+$/)
    expect((await gateway.get('/readyz')).body).toEqual(unavailable('Kafka is unavailable'))
    expect(await gateway.breakers()).toMatchObject({ Kafka: 1, metering: 0 })
    const reserved = reservationsIn(metering.calls).map(({ recordId }) => recordId)
    await until(() => released().length > 0)
    await until(() => registry.calls.some(({ name }) => name === 'releaseClaims'))
    expect(reserved).toEqual(expect.arrayContaining(released()))
    await recover()
    expect((await gateway.get('/readyz')).status).toBe(200)
    expect(await gateway.breakers()).toMatchObject({ Kafka: 0 })
    const published = (await gateway.records()).map(({ fact }) => fact.id)
    expect(published.filter((id) => released().includes(id))).toEqual([])
  })
})

describe('a catalog that is not known to be current (decisions.md, Keys)', () => {
  it('makes the gateway not ready, and its age is stated', async () => {
    const { staticCatalog } = await import('@nextvisit/catalog/test/static-catalog.ts')
    const stale = { ...staticCatalog([]), currentAsOfMs: () => performance.now() - 31_000 }
    const unread = { ...staticCatalog([]), currentAsOfMs: () => 0 }
    const [first, second] = [await startGateway({ catalog: stale }), await startGateway({ catalog: unread })]
    const answers = [
      await first.get('/readyz'),
      await second.get('/readyz'),
      await second.identify({ userName: 'ada' }),
    ]
    await first.stop()
    await second.stop()
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503])
    expect(answers[0]?.body).toEqual(unavailable(expect.stringContaining('31 s ago')))
    expect(answers[1]?.body).toEqual(unavailable('The catalog was not read yet'))
  })
})
