import { createMetrics } from '@nextvisit/service-kit'
import { givenScrape } from '@nextvisit/service-kit/test/given-scrape.ts'
import { describe, expect, it } from 'vitest'
import { givenSenders } from '../../test/given-sender.ts'
import { startReceiver } from '../../test/start-receiver.ts'
import { createWebhookMetrics } from './webhook-metrics.ts'

const given = givenSenders()
const PATIENT = { timeout: 20_000 }
const CRM = 'organization="acme",project="shop",endpoint="crm"'
const IDLE = 'organization="acme",project="shop",endpoint="idle"'
const HOUR_MS = 3_600_000

describe('the metrics of webhooks (metrics.md, Webhook dispatcher)', { timeout: 60_000 }, () => {
  it('show the oldest record that waits, attempts, requests in flight, and failing and disabled endpoints', async () => {
    let closeConnection: (() => void) | undefined
    const { url, answerWith } = await startReceiver({
      answer: (_, __, socket) => {
        closeConnection = () => socket.destroy()
      },
    })
    given.setWebhooks({ id: 'crm', url }, { id: 'idle', url }, { id: 'off', url, enabled: false })
    const registry = createMetrics('spec')
    let running: { readonly inFlight: () => number } | undefined
    const { countAttempt } = createWebhookMetrics({
      db: given.db(),
      metrics: registry,
      now: () => new Date(),
      catalog: given.catalog(),
      inFlight: () => running?.inFlight() ?? 0,
    })
    const scrape = await givenScrape(registry)
    const at = new Date(Date.now() - HOUR_MS).toISOString()
    await given.givenDeliveries([{ at }])
    running = await given.startSender({ onAttempt: countAttempt })
    await expect
      .poll(() => scrape('nextvisit_webhooks_'), PATIENT)
      .toMatchObject({
        nextvisit_webhooks_in_flight: 1,
        [`nextvisit_webhooks_oldest_seconds{${IDLE}}`]: 0,
        [`nextvisit_webhooks_failing_seconds{${IDLE}}`]: 0,
        [`nextvisit_webhooks_disabled{${CRM}}`]: 0,
        'nextvisit_webhooks_attempts_total{outcome="delivered"}': 0,
      })
    const values = await scrape('nextvisit_webhooks_oldest')
    expect(Object.keys(values)).toHaveLength(2)
    expect(values[`nextvisit_webhooks_oldest_seconds{${CRM}}`]).toBeGreaterThanOrEqual(3_600)

    answerWith((_, response) => response.writeHead(410).end())
    closeConnection?.()
    await expect
      .poll(() => scrape('nextvisit_webhooks_'), PATIENT)
      .toMatchObject({
        nextvisit_webhooks_in_flight: 0,
        [`nextvisit_webhooks_disabled{${CRM}}`]: 1,
        [`nextvisit_webhooks_disabled{${IDLE}}`]: 0,
        'nextvisit_webhooks_attempts_total{outcome="unreachable"}': 1,
        'nextvisit_webhooks_attempts_total{outcome="refused"}': 1,
      })
    const { [`nextvisit_webhooks_failing_seconds{${CRM}}`]: failingFor } = await scrape('nextvisit_webhooks_failing')
    expect(failingFor).toBeGreaterThan(0)
  })

  it('count the age of a replayed record from the replay on', async () => {
    given.setWebhooks({ id: 'crm', url: 'http://127.0.0.1:1/' })
    const registry = createMetrics('spec')
    const parts = { db: given.db(), metrics: registry, now: () => new Date(), catalog: given.catalog() }
    createWebhookMetrics({ ...parts, inFlight: () => 0 })
    const scrape = await givenScrape(registry)
    const replayId = '99999999-9999-4999-8999-999999999999'
    await given.givenDeliveries([{ at: new Date(Date.now() - HOUR_MS).toISOString(), replayId }])
    const { [`nextvisit_webhooks_oldest_seconds{${CRM}}`]: age } = await scrape('nextvisit_webhooks_oldest')
    expect(age).toBeLessThan(60)
  })
})
