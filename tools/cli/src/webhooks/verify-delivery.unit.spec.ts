import { randomBytes } from 'node:crypto'
import { createWebhookSecret } from '@nextvisit/domain'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { faultOfDelivery } from './verify-delivery.ts'

const [SECRET, OTHER] = [24, 64].map((bytes) => createWebhookSecret(randomBytes(bytes))) as [string, string]
const ID = '0192f3a0-0000-4000-8000-000000000001'
const NOW = Date.parse('2026-11-28T12:00:00.000Z')
const body = '{"type":"webhook.test","text":"ü"}'

/** Signs as the library does. */
function signed(secret = SECRET, at = NOW) {
  const headers = {
    'webhook-id': ID,
    'webhook-timestamp': String(at / 1_000),
    'webhook-signature': new Webhook(secret).sign(ID, new Date(at), body),
  }
  return { headers, body }
}

describe('a signed delivery', () => {
  it('is valid for 5 minutes', () => {
    expect(faultOfDelivery(signed(), SECRET, NOW)).toBeUndefined()
    expect(faultOfDelivery(signed(OTHER), OTHER, NOW)).toBeUndefined()
    for (const distance of [-300_000, 300_000])
      expect(faultOfDelivery(signed(SECRET, NOW + distance), SECRET, NOW)).toBeUndefined()
    for (const distance of [-301_000, 301_000])
      expect(faultOfDelivery(signed(SECRET, NOW + distance), SECRET, NOW)).toMatch(/by more than 5 minutes$/)
  })

  it('is valid if one of its signatures is, as during a rotation', () => {
    const { headers } = signed()
    const both = `${signed(OTHER).headers['webhook-signature']} v1a,AAAA ${headers['webhook-signature']}`
    expect(faultOfDelivery({ headers: { ...headers, 'webhook-signature': both }, body }, SECRET, NOW)).toBeUndefined()
  })

  it('is not valid if anything was changed', () => {
    const { headers } = signed()
    const changed = [
      { headers, body: `${body} ` },
      { headers: { ...headers, 'webhook-id': ID.replace('1', '2') }, body },
      { headers: { ...headers, 'webhook-timestamp': String(NOW / 1_000 + 1) }, body },
      { headers: { ...headers, 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v2,') }, body },
      { headers: { ...headers, 'webhook-signature': 'v1,' }, body },
      signed(OTHER),
    ]
    expect(changed.map((one) => faultOfDelivery(one, SECRET, NOW))).toEqual(changed.map(() => 'no signature is valid'))
    expect(faultOfDelivery({ headers: {}, body }, SECRET, NOW)).toBe('a header is missing')
  })
})
