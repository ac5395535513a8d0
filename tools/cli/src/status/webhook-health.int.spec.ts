import { type UnhealthyEndpoint, webhookDispatcherCalls } from '@nextvisit/contracts'
import { serveCalls } from '@nextvisit/service-kit'
import { givenInternalServer } from '@nextvisit/service-kit/test/given-internal-server.ts'
import { describe, expect, it } from 'vitest'
import { readWebhookHealth, webhookLine } from './webhook-health.ts'

const TOKEN = 'a token of some length'
const AT = '2026-11-28T12:00:00.000Z'
const crm: UnhealthyEndpoint = { organization: 'acme', project: 'shop', endpointId: 'crm' }
const { readUnhealthyEndpoints } = webhookDispatcherCalls

describe('the webhooks in nextvisit status', () => {
  it('are those that the dispatcher calls unhealthy', async () => {
    const endpoints = [{ ...crm, failingSince: AT }]
    const routes = serveCalls({ readUnhealthyEndpoints }, { readUnhealthyEndpoints: async () => ({ endpoints }) })
    const { url } = await givenInternalServer({ token: TOKEN, routes })
    const env = { WEBHOOK_DISPATCHER_URLS: url, INTERNAL_TOKEN: TOKEN }
    expect(await readWebhookHealth(env)).toEqual({ status: 'available', endpoints })
  })

  it('are unknown without an address, and unavailable while nobody answers', async () => {
    expect(await readWebhookHealth({})).toBeNull()
    const silent = { WEBHOOK_DISPATCHER_URLS: 'http://127.0.0.1:1', INTERNAL_TOKEN: TOKEN }
    expect(await readWebhookHealth(silent)).toMatchObject({ status: 'away', because: expect.stringMatching('stopped') })
  })

  it.each<[Partial<UnhealthyEndpoint>, string]>([
    [
      { disabledAt: AT, because: 'It answered 410 (Gone).', failingSince: AT },
      `is disabled since ${AT}: It answered 410 (Gone). Nothing`,
    ],
    [{ failingSince: AT, pendingSince: AT }, `fails since ${AT}. Nothing`],
    [{ pendingSince: AT }, `lags: a delivery is pending since ${AT}. Nothing`],
  ])('have a line that names the problem and the page: %j', (problem, text) => {
    const line = webhookLine({ ...crm, ...problem })
    expect(line).toContain(`The webhook crm of acme/shop ${text}`)
    expect(line).toContain('docs/runbooks/webhooks.md')
  })
})
