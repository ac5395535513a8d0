import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GatewayFixture, startGateway } from './gateway-fixture.ts'

describe('while Kafka is away (decisions.md, Busy and broken)', () => {
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

  it('still refuses what is wrong', async () => {
    expect((await gateway.identify({})).status).toBe(401)
    expect((await gateway.track({ userName: 'ada' })).status).toBe(400)
  })

  it('is not ready and says why, but live', async () => {
    const ready = await gateway.get('/readyz')
    expect(ready.status).toBe(503)
    expect(ready.body).toEqual({ status: 'unavailable', reasons: ['Kafka was not reached yet'] })
    expect((await gateway.get('/livez')).status).toBe(200)
  })
})

describe('a catalog that is not known to be current (decisions.md, Keys)', () => {
  it('makes the gateway not ready, and says since when', async () => {
    const { staticCatalog } = await import('@nextvisit/catalog')
    const stale = { ...staticCatalog([]), currentAsOfMs: () => Date.now() - 31_000 }
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
    expect(answers[0]?.body['reasons']).toEqual([expect.stringContaining('31 s ago')])
    expect(answers[1]?.body['reasons']).toEqual(['The catalog was not read yet'])
  })
})
