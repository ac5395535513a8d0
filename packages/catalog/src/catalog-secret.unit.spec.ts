import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { describe, expect, it } from 'vitest'
import {
  decryptSigningSecret,
  decryptWebhookSecret,
  encryptSigningSecret,
  encryptWebhookSecret,
} from './catalog-secret.ts'

const ring = givenKeyRing('ab'.repeat(32))
const shop = { organization: 'acme', project: 'shop' }
const crm = { ...shop, endpointId: 'crm' }

describe('a secret of the catalog', () => {
  it('is decrypted where it was encrypted', () => {
    const signing = encryptSigningSecret('a secret', ring, shop)
    expect(decryptSigningSecret(signing, ring, shop)).toEqual({ outcome: 'decrypted', secret: 'a secret' })
    const webhook = encryptWebhookSecret('whsec_a', ring, crm)
    expect(decryptWebhookSecret(webhook, ring, crm)).toEqual({ outcome: 'decrypted', secret: 'whsec_a' })
  })

  it('is damaged in another project, of another endpoint, or as a secret of another kind', () => {
    const signing = encryptSigningSecret('a secret', ring, shop)
    const webhook = encryptWebhookSecret('whsec_a', ring, crm)
    const decrypted = [
      decryptSigningSecret(signing, ring, { ...shop, project: 'other' }),
      decryptSigningSecret(webhook, ring, shop),
      decryptWebhookSecret(signing, ring, crm),
      decryptWebhookSecret(webhook, ring, { ...crm, endpointId: 'other' }),
      decryptWebhookSecret(webhook, ring, { ...crm, organization: 'other' }),
    ]
    expect(decrypted).toEqual(decrypted.map(() => ({ outcome: 'damaged' })))
  })

  it('names the key that a process lacks', () => {
    const webhook = encryptWebhookSecret('whsec_a', ring, crm)
    const missing = { outcome: 'missing-key', keyId: ring.newestKeyId }
    expect(decryptWebhookSecret(webhook, undefined, crm)).toEqual(missing)
    expect(decryptWebhookSecret(webhook, givenKeyRing('cd'.repeat(32)), crm)).toEqual(missing)
  })
})
