import { decryptWebhookSecret, encryptWebhookSecret } from '@nextvisit/catalog'
import { OrganizationConfig, type Webhook } from '@nextvisit/contracts'
import { sealedWith } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { describe, expect, it } from 'vitest'
import { settleSecrets } from './settle-secrets.ts'

const [OLD, NEW] = ['ab'.repeat(32), 'cd'.repeat(32)]
const CRM = { organization: 'acme', project: 'shop', endpointId: 'crm' }
const ADDED = '2026-11-01T00:00:00.000Z'
const NOW = new Date('2026-11-28T12:00:00.000Z')
const IN_24_H = '2026-11-29T12:00:00.000Z'

/** The configuration of the catalog, or a file's, with this secret under a key. */
function configOf(secret: string, key: string, special: Partial<Webhook> = {}): OrganizationConfig {
  const crm = { id: 'crm', url: 'https://a.example', secret: seal(secret, key), addedAt: NOW.toISOString() }
  return OrganizationConfig.parse({ id: 'acme', projects: [{ id: 'shop', webhooks: [{ ...crm, ...special }] }] })
}

function seal(secret: string, key: string): string {
  return encryptWebhookSecret(secret, givenKeyRing(key), CRM)
}

const crmOf = ({ projects }: OrganizationConfig): Webhook => projects[0]!.webhooks[0]!

/** Returns a secret, and whether the new key encrypts it. */
function opened(encrypted: string): readonly [string, 'new' | 'old'] {
  const decrypted = decryptWebhookSecret(encrypted, givenKeyRing(OLD, NEW), CRM)
  const isNew = sealedWith(encrypted) === givenKeyRing(NEW).newestKeyId
  return [decrypted.outcome === 'decrypted' ? decrypted.secret : decrypted.outcome, isNew ? 'new' : 'old']
}

/** Settles, and decrypts the secrets of the result. */
function settle(held: OrganizationConfig, wanted: OrganizationConfig, ...keys: readonly string[]) {
  const settled = settleSecrets(held, wanted, givenKeyRing(...keys), NOW)
  const crm = crmOf(settled.wanted)
  return {
    ...settled,
    crm,
    secret: opened(crm.secret),
    previous: crm.previousSecret && [...opened(crm.previousSecret.secret), crm.previousSecret.until],
  }
}

describe('the secret of a webhook', () => {
  const held = configOf('whsec_a', OLD, { addedAt: ADDED })

  it('keeps its ciphertext while it is unchanged, and the webhook its age', () => {
    const { crm, reencrypted } = settle(held, configOf('whsec_a', OLD), OLD)
    expect(crm).toEqual(crmOf(held))
    expect(reencrypted).toEqual([])
  })

  it('signs for 24 h after it was replaced', () => {
    const { crm, secret, previous, reencrypted } = settle(held, configOf('whsec_b', OLD), OLD)
    expect([secret, previous]).toEqual([
      ['whsec_b', 'old'],
      ['whsec_a', 'old', IN_24_H],
    ])
    expect(crm.addedAt).toBe(ADDED)
    expect(reencrypted).toEqual([])
  })

  it('is forgotten if it is replaced a second time within 24 h', () => {
    const previousSecret = { secret: seal('whsec_a', OLD), until: '2026-11-28T20:00:00.000Z' }
    const second = configOf('whsec_b', OLD, { previousSecret })
    const { secret, previous } = settle(second, configOf('whsec_c', OLD), OLD)
    expect([secret, previous]).toEqual([
      ['whsec_c', 'old'],
      ['whsec_b', 'old', IN_24_H],
    ])
  })

  it('signs on if another member changes meanwhile, and no longer than 24 h', () => {
    const rotated = (until: string) =>
      configOf('whsec_b', OLD, { previousSecret: { secret: seal('whsec_a', OLD), until } })
    const wanted = configOf('whsec_b', OLD, { enabled: false })
    expect(settle(rotated('2026-11-28T12:00:00.001Z'), wanted, OLD).previous).toEqual([
      'whsec_a',
      'old',
      '2026-11-28T12:00:00.001Z',
    ])
    const over = settle(rotated('2026-11-28T12:00:00.000Z'), wanted, OLD)
    expect(over.previous).toBeUndefined()
    // It alone is no change that would need a record.
    expect(crmOf(over.held)).not.toHaveProperty('previousSecret')
  })

  it('moves to the newest key, with the previous one, and both are counted', () => {
    const previousSecret = { secret: seal('whsec_a', OLD), until: IN_24_H }
    const rotated = configOf('whsec_b', OLD, { previousSecret, addedAt: ADDED })
    const settled = settle(rotated, configOf('whsec_b', NEW), NEW, OLD)
    expect([settled.secret, settled.previous]).toEqual([
      ['whsec_b', 'new'],
      ['whsec_a', 'new', IN_24_H],
    ])
    expect(settled.reencrypted).toEqual([
      { project: 'shop', what: 'webhook crm secret' },
      { project: 'shop', what: 'webhook crm previousSecret' },
    ])
    expect(crmOf(settled.held)).toEqual(settled.crm)
  })

  it('moves to the newest key when it is replaced at the same time', () => {
    const { secret, previous, reencrypted } = settle(held, configOf('whsec_b', NEW), NEW, OLD)
    expect([secret, previous]).toEqual([
      ['whsec_b', 'new'],
      ['whsec_a', 'new', IN_24_H],
    ])
    expect(reencrypted).toEqual([])
  })

  it('is replaced by that of the file if its key is lost', () => {
    const { crm, secret, previous } = settle(held, configOf('whsec_a', NEW), NEW)
    expect([secret, previous]).toEqual([['whsec_a', 'new'], undefined])
    expect(crm.addedAt).toBe(ADDED)
  })

  it('has no previous one in another project or endpoint of the same name', () => {
    const wanted = configOf('whsec_b', OLD)
    const renamed = { ...wanted, projects: wanted.projects.map((project) => ({ ...project, id: 'other' })) }
    const { crm } = settle(held, renamed, OLD)
    expect(crm).toEqual(crmOf(wanted))
  })
})
