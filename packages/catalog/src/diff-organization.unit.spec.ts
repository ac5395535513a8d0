import { OrganizationConfig } from '@nextvisit/contracts'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { changeLine, diffOrganization } from './diff-organization.ts'
import { encryptSigningSecret, encryptWebhookSecret } from './catalog-secret.ts'

function acme(special: object = {}, project: object = {}): OrganizationConfig {
  return OrganizationConfig.parse({ id: 'acme', projects: [{ id: 'shop', ...project }], ...special })
}

function linesOf(held: OrganizationConfig | null, wanted: OrganizationConfig | null): readonly string[] {
  return diffOrganization('acme', held, wanted).map(changeLine)
}

const key = { name: 'backend', kind: 'admin', environment: 'P', sha256: 'a'.repeat(64) }

/** acme whose project shop has one webhook. */
function crm(special: object = {}): OrganizationConfig {
  const endpoint = { id: 'crm', url: 'https://a.example', secret: 'first', addedAt: '2026-11-28T00:00:00.000Z' }
  return acme({}, { webhooks: [{ ...endpoint, ...special }] })
}

describe('the difference of two configurations', () => {
  it('lists added, changed and removed parts', () => {
    const held = acme(
      { plan: { eventsPerMonth: 100 } },
      { keys: [key], forms: [{ id: 'nps' }, { id: 'old' }], sdk: { pingAgainInSeconds: 30 }, signingSecret: 'x' },
    )
    const wanted = acme(
      { plan: { eventsPerMonth: 200, uniqueTraits: 5 } },
      {
        segments: [{ id: 'pro', where: { trait: 'plan', is: 'pro' } }],
        forms: [
          { id: 'nps', priority: 10, audience: { segment: 'pro' }, frequency: { repeat: 'always' } },
          { id: 'new' },
        ],
        formCooldown: '1h',
        signingSecret: 'y',
      },
    )
    expect(linesOf(held, wanted)).toEqual([
      '~ acme plan.eventsPerMonth 100 → 200',
      '~ acme plan.uniqueTraits (none) → 5',
      '~ acme/shop formCooldown 0s → 1h',
      '~ acme/shop sdk.pingAgainInSeconds 30 → 60',
      '~ acme/shop signingSecret (another one)',
      '- acme/shop key backend (revoked)',
      '+ acme/shop segment pro',
      '~ acme/shop form nps frequency.repeat once → always',
      '~ acme/shop form nps priority 0 → 10',
      '~ acme/shop form nps audience (none) → {"segment":"pro"}',
      '+ acme/shop form new',
      '- acme/shop form old',
    ])
  })

  it('describes a new or changed content, and names a removed one', () => {
    const [first, second] = ['a', 'b'].map((letter) => {
      const content = { revision: 1, hash: letter.repeat(16) }
      return acme({}, { forms: [{ id: 'nps', content }] })
    })
    const none = acme({}, { forms: [{ id: 'nps' }] })
    const changes = (held = none, wanted = none) =>
      diffOrganization('acme', held, wanted, (project, id, { hash }) =>
        hash.startsWith('a') ? `${project}/${id}: 2 elements, en` : undefined,
      ).map(changeLine)
    expect(changes(none, first)).toEqual(['~ acme/shop form nps content (shop/nps: 2 elements, en)'])
    expect(changes(first, second)).toEqual(['~ acme/shop form nps content (another one)'])
    expect(changes(first, none)).toEqual(['~ acme/shop form nps content (removed)'])
    expect(changes(first, first)).toEqual([])
    const empty = acme()
    expect(changes(empty, first)).toEqual(['+ acme/shop form nps with content (shop/nps: 2 elements, en)'])
    expect(changes(empty, second)).toEqual(['+ acme/shop form nps with content'])
    expect(changes(empty, none)).toEqual(['+ acme/shop form nps'])
  })

  it('cuts a long value between two characters', () => {
    const [held, wanted] = ['short', '😀'.repeat(81)].map((name) => acme({}, { forms: [{ id: 'nps', name }] }))
    const [line = ''] = linesOf(held ?? null, wanted ?? null)
    expect(line).toBe(`~ acme/shop form nps name short → ${'😀'.repeat(80)}…`)
  })

  it('lists every part of a new organization', () => {
    expect(linesOf(null, acme({}, { keys: [key], forms: [{ id: 'nps' }] }))).toEqual([
      '+ acme organization',
      '+ acme/shop project',
      '+ acme/shop key backend',
      '+ acme/shop form nps',
    ])
  })

  it('reports the keys of removed projects as revoked', () => {
    expect(linesOf(acme({}, { keys: [key] }), acme({ projects: [] }))).toEqual([
      '- acme/shop project (its keys are revoked)',
    ])
    expect(linesOf(acme(), null)).toEqual(['- acme organization'])
    expect(linesOf(null, null)).toEqual([])
  })

  it('never shows a signing secret', () => {
    const lines = linesOf(acme({}, { signingSecret: 'before' }), acme({}, { signingSecret: 'after' }))
    expect(lines.join()).not.toMatch(/before|after/)
  })

  it('names the key of a secret that is encrypted with another one, because the secret itself may be the same', () => {
    const [held, wanted] = ['ab', 'cd'].map((byte) => {
      const signingSecret = encryptSigningSecret('a secret', givenKeyRing(byte.repeat(32)), {
        organization: 'acme',
        project: 'shop',
      })
      return acme({}, { signingSecret })
    })
    const { newestKeyId } = givenKeyRing('cd'.repeat(32))
    expect(linesOf(held ?? null, wanted ?? null)).toEqual([
      `~ acme/shop signingSecret (encrypted with key ${newestKeyId})`,
    ])
  })

  const until = '2026-11-29T00:00:00.000Z'

  it('lists webhooks', () => {
    expect(linesOf(acme(), crm())).toEqual(['+ acme/shop webhook crm'])
    expect(linesOf(crm(), acme())).toEqual(['- acme/shop webhook crm (its deliveries are forgotten)'])
    const changed = { url: 'https://b.example', events: ['form.answered'], include: ['traits'], enabled: false }
    expect(linesOf(crm(), crm(changed))).toEqual([
      '~ acme/shop webhook crm url a.example → b.example',
      '~ acme/shop webhook crm include [] → ["traits"]',
      '~ acme/shop webhook crm enabled true → false',
      '~ acme/shop webhook crm events (none) → ["form.answered"]',
    ])
  })

  it('shows the host of a webhook, and never the rest of its address, which may be a secret', () => {
    const [held, wanted] = ['https://a.example/T0KEN?k=1', 'https://me:pass@a.example/0THER'].map((url) => crm({ url }))
    expect(linesOf(held ?? null, wanted ?? null)).toEqual(['~ acme/shop webhook crm url (another one at a.example)'])
  })

  it('tells how long the previous secret of a webhook signs, and never shows a secret', () => {
    const second = crm({ secret: 'second', previousSecret: { secret: 'first', until } })
    expect(linesOf(crm(), second)).toEqual([
      `~ acme/shop webhook crm secret (another one; the one before signs until ${until})`,
    ])
    const later = '2026-11-29T01:00:00.000Z'
    const third = crm({ secret: 'third', previousSecret: { secret: 'second', until: later } })
    expect(linesOf(second, third)).toEqual([
      `~ acme/shop webhook crm secret (another one; the one before signs until ${later}; the one before that no longer signs)`,
    ])
    expect(linesOf(second, crm({ secret: 'second' }))).toEqual([
      '~ acme/shop webhook crm previousSecret (no longer signs)',
    ])
  })

  it('names the key of secrets of a webhook that another one encrypts', () => {
    const [held, wanted] = ['ab', 'cd'].map((byte) => {
      const ref = { organization: 'acme', project: 'shop', endpointId: 'crm' }
      const [secret, before] = ['whsec_new', 'whsec_old'].map((one) =>
        encryptWebhookSecret(one, givenKeyRing(byte.repeat(32)), ref),
      )
      return crm({ secret, previousSecret: { secret: before, until } })
    })
    const { newestKeyId } = givenKeyRing('cd'.repeat(32))
    expect(linesOf(held ?? null, wanted ?? null)).toEqual([
      `~ acme/shop webhook crm secret (encrypted with key ${newestKeyId})`,
      `~ acme/shop webhook crm previousSecret (encrypted with key ${newestKeyId})`,
    ])
  })

  it('reports a replaced key without its hash', () => {
    const lines = linesOf(acme({}, { keys: [key] }), acme({}, { keys: [{ ...key, sha256: 'b'.repeat(64) }] }))
    expect(lines).toEqual(['~ acme/shop key backend sha256 (another one)'])
  })

  it('is empty if only the order of named parts differs', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.stringMatching(/^[a-z]{1,5}$/)), fc.infiniteStream(fc.nat()), (ids, weights) => {
        const shuffled = ids
          .map((id) => ({ id, weight: weights.next().value as number }))
          .toSorted((a, b) => a.weight - b.weight)
        const inOrder = acme({}, { forms: ids.map((id) => ({ id })) })
        expect(linesOf(inOrder, acme({}, { forms: shuffled.map(({ id }) => ({ id })) }))).toEqual([])
      }),
    )
  })
})
