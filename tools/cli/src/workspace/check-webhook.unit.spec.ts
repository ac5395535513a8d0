import { decryptWebhookSecret } from '@nextvisit/catalog'
import { createWebhookSecret } from '@nextvisit/domain'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { describe, expect, it } from 'vitest'
import { webhookWarnings } from './check-webhook.ts'
import { parseWorkspaceFile } from './parse-workspace-file.ts'

const SECRET_KEY = 'ab'.repeat(32)
const HOOK_SECRET = createWebhookSecret(new Uint8Array(32).fill(5))
const ENV: Readonly<Record<string, string>> = { HOOK_SECRET, NEXTVISIT_SECRET_KEY: SECRET_KEY }
const URL_OF_CRM = 'https://crm.example/hooks/nextvisit?tenant=7'

/** Returns a file with these webhooks, the first on line 6. */
function file(...webhooks: readonly string[]): string {
  const lines = ['organizations:', '  - id: acme', '    projects:', '      - id: shop', '        webhooks:']
  return [...lines, ...webhooks.map((webhook) => `          - ${webhook}`)].join('\n')
}

/** A webhook of a file with these members in place of the usual ones. */
function crm(special: Readonly<Record<string, string>> = {}): string {
  const members = { id: 'crm', url: JSON.stringify(URL_OF_CRM), secret: '$HOOK_SECRET', ...special }
  return `{ ${Object.entries(members)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')} }`
}

function faultsOf(text: string, env = ENV): readonly string[] {
  const parsed = parseWorkspaceFile(text, env)
  return parsed.outcome === 'ok' ? [] : parsed.faults.map(({ line, path, message }) => `${line} ${path}: ${message}`)
}

function shopOf(text: string) {
  const parsed = parseWorkspaceFile(text, ENV)
  if (parsed.outcome === 'invalid') throw new Error(JSON.stringify(parsed.faults))
  const [organization] = parsed.organizations
  return { organization: organization!, webhooks: organization!.projects[0]!.webhooks }
}

const where = 'organizations[0].projects[0].webhooks[0]'

describe('the webhooks of a workspace file', () => {
  it('need an id, a url and a secret, which is encrypted for the endpoint', () => {
    const { webhooks } = shopOf(file(crm()))
    expect(webhooks).toEqual([
      {
        id: 'crm',
        url: URL_OF_CRM,
        include: [],
        enabled: true,
        secret: expect.any(String),
        addedAt: expect.stringMatching(/Z$/),
      },
    ])
    expect(JSON.stringify(webhooks)).not.toContain(HOOK_SECRET)
    const decrypted = (endpointId: string) =>
      decryptWebhookSecret(webhooks[0]!.secret, givenKeyRing(SECRET_KEY), {
        organization: 'acme',
        project: 'shop',
        endpointId,
      })
    expect(decrypted('crm')).toEqual({ outcome: 'decrypted', secret: HOOK_SECRET })
    expect(decrypted('bi')).toEqual({ outcome: 'damaged' })
  })

  it('may list events, include traits, and be disabled', () => {
    const special = { events: '[form.answered, user.erased]', include: '[traits]', enabled: 'false' }
    expect(shopOf(file(crm(special))).webhooks).toMatchObject([
      { events: ['form.answered', 'user.erased'], include: ['traits'], enabled: false },
    ])
  })

  it.each([
    ['http://localhost:3000/hooks'],
    ['http://shop.localhost/hooks'],
    ['http://127.0.0.1:3000/hooks'],
    ['http://[::1]:3000/hooks'],
  ])('may use %s, with a warning', (url) => {
    const { organization } = shopOf(file(crm({ url: JSON.stringify(url) }), crm({ id: 'bi' })))
    expect(webhookWarnings(organization)).toEqual([
      'acme/shop: webhook crm uses http://, which only a local stack sends. Use https:// elsewhere.',
    ])
  })

  it.each([
    ['/hooks', 'must be an absolute URL such as https://example.com/hooks'],
    ['crm.example/hooks', 'must be an absolute URL such as https://example.com/hooks'],
    ['https:crm.example', 'must be an absolute URL such as https://example.com/hooks'],
    ['https://', 'must be an absolute URL such as https://example.com/hooks'],
    [' https://crm.example', 'must be an absolute URL such as https://example.com/hooks'],
    ['https://crm.exa\nmple', 'must be an absolute URL such as https://example.com/hooks'],
    ['', 'must be an absolute URL such as https://example.com/hooks'],
    ['ftp://crm.example', 'must begin with https://, not ftp://'],
    ['http://crm.example', 'must begin with https://: http:// is only for loopback, on a local stack'],
    ['http://localhost.crm.example', 'must begin with https://: http:// is only for loopback, on a local stack'],
    ['http://127.0.0.1.crm.example', 'must begin with https://: http:// is only for loopback, on a local stack'],
    [
      'https://me:secret@crm.example',
      'contains a user name or password: remove it, since the signature tells who sends',
    ],
    ['https://me@crm.example', 'contains a user name or password: remove it, since the signature tells who sends'],
    ['https://crm.example/#top', 'has a fragment (#…), which is never sent: remove it'],
    ['https://crm.example/#', 'has a fragment (#…), which is never sent: remove it'],
    [`https://crm.example/${'a'.repeat(2_000)}`, 'must be at most 2000 characters long'],
    ['https://crm.example/\ud83d', 'contains U+0000 or a lone surrogate (such as half of an emoji): remove it'],
  ])('are refused with the url %j', (url, message) => {
    expect(faultsOf(file(crm({ url: JSON.stringify(url) })))).toEqual([`6 ${where}.url: ${message}`])
  })

  const events = [
    'form.queued, form.delivered, form.answered, form.dismissed, form.expired',
    'user.entered_segment, user.left_segment, user.erased',
  ].join(', ')
  it.each([
    [crm({ events: '[form.shown]' }), `${where}.events[0]: must be one of ${events}`],
    [crm({ events: '[webhook.test]' }), `${where}.events[0]: must be one of ${events}`],
    [crm({ events: '[]' }), `${where}.events: must be a list of at least 1`],
    [crm({ include: '[answers]' }), `${where}.include[0]: must be one of traits`],
    [crm({ event: '[form.answered]' }), `${where}.event: is not a known member: did you mean events?`],
    [crm({ id: 'CRM' }), `${where}.id: must be 1 to 63 of`],
    ['{ id: crm, secret: $HOOK_SECRET }', `${where}.url: is missing`],
    [crm({ secret: HOOK_SECRET }), `${where}.secret: must name an environment variable, as $NAME`],
    [crm({ secret: '$NOWHERE' }), `${where}.secret: the environment variable NOWHERE is not set`],
    [
      crm({ secret: '$NEXTVISIT_SECRET_KEY' }),
      `${where}.secret: $NEXTVISIT_SECRET_KEY does not hold a secret of a webhook, whsec_ and base64 of 24 to 64 bytes: ` +
        'create one with nextvisit webhooks create-secret',
    ],
  ])('are refused with %s', (webhook, expected) => {
    const faults = faultsOf(file(webhook))
    expect(faults).toEqual([expect.stringContaining(`6 ${expected}`)])
    expect(faults.join()).not.toContain(HOOK_SECRET)
  })

  it('have ids of their own, and are at most 20', () => {
    expect(faultsOf(file(crm(), crm({ id: 'bi' }), crm()))).toEqual([
      '8 organizations[0].projects[0].webhooks[2].id: webhook crm is duplicated',
    ])
    const many = Array.from({ length: 21 }, (_, nth) => crm({ id: `crm-${nth}` }))
    expect(faultsOf(file(...many.slice(1)))).toEqual([])
    expect(faultsOf(file(...many))).toEqual(['5 organizations[0].projects[0].webhooks: must be a list of at most 20'])
  })

  it('need the secret key to encrypt their secrets', () => {
    expect(faultsOf(file(crm()), { HOOK_SECRET })).toEqual([
      expect.stringMatching(/^6 .*secret: NEXTVISIT_SECRET_KEY must be set to 32 bytes as 64 hex characters/),
    ])
  })
})
