import { describe, expect, it } from 'vitest'
import { createWebhookEndpoints } from './webhook-endpoints.ts'

const ACME = { organization: 'acme', project: 'shop' }
const addedAt = '2026-11-02T10:00:00.000Z'

/** Folds revisions with these endpoints, and returns the endpoint `crm`. */
function crmAfter(...revisions: readonly (readonly [number, object])[]) {
  const endpoints = createWebhookEndpoints()
  for (const [revision, special] of revisions) {
    const webhooks = [{ id: 'crm', addedAt, ...special }]
    const config = { projects: [{ id: 'shop', webhooks }] }
    endpoints.observe(Buffer.from(JSON.stringify({ organization: 'acme', revision, config })))
  }
  return endpoints.find(ACME, 'crm')
}

describe('an endpoint of the catalog', () => {
  it('wants the events of all revisions since it was added', () => {
    expect(crmAfter([1, {}])).toMatchObject({ events: undefined, isCertain: true })
    expect(crmAfter([1, {}], [2, { events: ['form.queued', 'user.erased'] }])?.events).toEqual(
      new Set(['form.queued', 'user.erased']),
    )
    const narrowed = crmAfter(
      [1, { events: ['form.queued', 'user.erased'] }],
      [2, { events: ['user.erased'] }],
      [3, {}],
    )
    expect(narrowed?.events).toEqual(new Set(['user.erased']))
  })

  it('is another one if it was added again, or removed', () => {
    const again = '2026-11-03T10:00:00.000Z'
    expect(crmAfter([1, { events: ['form.queued'] }], [2, { addedAt: again }])).toMatchObject({ events: undefined })
    expect(crmAfter([1, {}], [2, { id: 'other' }])).toBeUndefined()
  })

  it('is uncertain after revisions that are unknown, and older revisions do not count', () => {
    expect(crmAfter([1, {}], [3, {}], [4, {}])).toMatchObject({ isCertain: false })
    expect(crmAfter([2, { events: ['form.queued'] }], [1, {}])?.events).toEqual(new Set(['form.queued']))
  })
})
