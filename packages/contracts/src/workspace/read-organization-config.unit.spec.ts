import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { NEVER } from './condition.ts'
import { OrganizationConfig } from './organization-config.ts'
import { readOrganizationConfig } from './read-organization-config.ts'

/** An organization `acme` whose project `shop` has these members, as a later version may have written it. */
function read(members: object, organization: object = {}) {
  const reading = readOrganizationConfig({ id: 'acme', projects: [{ id: 'shop', ...members }], ...organization })
  if (reading.outcome === 'unreadable') throw new Error(reading.reason)
  return { ...reading, project: reading.config.projects[0]! }
}

/** A condition with this number of levels. */
function nested(levels: number): object {
  let condition: object = { trait: 'plan', is: 'pro' }
  for (let level = 1; level < levels; level += 1) condition = { not: condition }
  return condition
}

const NPS = { id: 'nps', triggers: [{ event: 'checkout' }] }
const HASH = 'a'.repeat(64)
const CRM = { id: 'crm', url: 'https://crm.example/hook', secret: 'sealed', addedAt: '2026-11-28T00:00:00.000Z' }

describe('a configuration of this version', () => {
  it('is read without a change', () => {
    const config = OrganizationConfig.parse({
      id: 'acme',
      plan: { eventsPerMonth: 10 },
      projects: [
        {
          id: 'shop',
          allowedFields: ['email'],
          rateLimits: { admin: { perSecond: 5, burst: 6 } },
          traits: [{ slug: 'note', enabled: false }],
          segments: [
            { id: 'paying', where: { trait: 'plan', is: 'pro' } },
            { id: 'lost', where: { not: { segment: 'paying' } } },
          ],
          forms: [{ ...NPS, audience: { segment: 'lost' } }],
          keys: [{ name: 'backend', kind: 'admin', environment: 'P', sha256: HASH }],
          webhooks: [{ ...CRM, events: ['form.answered'], previousSecret: { secret: 'sealed', until: CRM.addedAt } }],
        },
      ],
    })
    const written = JSON.parse(JSON.stringify(config)) as object
    expect(readOrganizationConfig(written)).toEqual({ outcome: 'read', config, notUnderstood: [] })
  })
})

describe('a reader of a configuration of a later version', () => {
  it('drops its unknown settings', () => {
    const { config, notUnderstood } = read(
      {
        quietHours: '22-6',
        sdk: { pingAgainInSeconds: 5, theme: 'dark' },
        rateLimits: { admin: { perSecond: 5, burst: 6, perDay: 7 }, webhooks: {} },
        traits: [{ slug: 'plan', label: 'Plan' }],
        allowedFields: ['email', '$gpu'],
      },
      { region: 'eu', plan: { uniqueEvents: 3, seats: 5 } },
    )
    expect(notUnderstood).toEqual([])
    expect(config).toEqual(
      OrganizationConfig.parse({
        id: 'acme',
        plan: { uniqueEvents: 3 },
        projects: [
          {
            id: 'shop',
            sdk: { pingAgainInSeconds: 5 },
            rateLimits: { admin: { perSecond: 5, burst: 6 } },
            traits: [{ slug: 'plan' }],
            allowedFields: ['email'],
          },
        ],
      }),
    )
  })

  it.each([
    ['a member', { ...NPS, holdout: 10 }],
    ['a member of a member', { ...NPS, frequency: { repeat: 'once', perDevice: true } }],
    ['an operator in its audience', { ...NPS, audience: { all: [{ trait: 'plan', matches: '^p' }] } }],
    ['a kind of leaf in its audience', { ...NPS, audience: { not: { cohort: 'beta' } } }],
    ['a member of a trigger', { ...NPS, triggers: [{ event: 'checkout', whenever: { property: 'total', is: 1 } }] }],
    ['an operator on a property', { ...NPS, triggers: [{ event: 'checkout', where: { property: 'total', near: 1 } }] }],
    ['a leaf in a trigger', { ...NPS, triggers: [{ event: 'checkout', where: { any: [{ trait: 'plan', is: 1 }] } }] }],
    [
      'an operator on a counted property',
      { ...NPS, triggers: [{ event: 'a', count: 2, where: { property: 'b', near: 1 } }] },
    ],
    [
      'a member of an event leaf of its audience',
      { ...NPS, audience: { event: 'a', atLeast: 1, where: { property: 'b', is: 1, of: 2 } } },
    ],
    ['a kind of trigger', { ...NPS, triggers: [{ event: 'checkout' }, { webhook: 'crm' }] }],
  ])('queues no form with %s that is unknown, and cancels no waiting row of it', (_name, form) => {
    const { project, notUnderstood } = read({ forms: [form, { id: 'csat' }] })
    expect(notUnderstood).toMatchObject([{ project: 'shop', kind: 'form', id: 'nps' }])
    expect(project.forms).toMatchObject([
      { id: 'nps', enabled: true, triggers: [], audience: NEVER },
      { id: 'csat', enabled: true },
    ])
  })

  it.each([
    ['a member', { ...CRM, batch: 10 }],
    ['an event', { ...CRM, events: ['form.answered', 'form.shared'] }],
    ['a member of its previous secret', { ...CRM, previousSecret: { secret: 'a', until: CRM.addedAt, alg: 'v1a' } }],
    ['a part of the profile', { ...CRM, include: ['traits', 'segments'] }],
  ])('does not understand a webhook with %s that is unknown, and understands the others', (_name, webhook) => {
    const { project, notUnderstood } = read({ webhooks: [webhook, { ...CRM, id: 'bi' }] })
    expect(notUnderstood).toMatchObject([{ project: 'shop', kind: 'webhook', id: 'crm' }])
    expect(project.webhooks).toMatchObject([{ id: 'bi', enabled: true, include: [] }])
  })

  it('reads more webhooks than this version may apply', () => {
    const webhooks = Array.from({ length: 30 }, (_, nth) => ({ ...CRM, id: `crm-${nth}` }))
    expect(read({ webhooks }).project.webhooks).toHaveLength(30)
  })

  it('keeps a disabled form disabled', () => {
    expect(read({ forms: [{ ...NPS, enabled: false, holdout: 10 }] }).project.forms).toMatchObject([{ enabled: false }])
  })

  it('does not understand a segment with an unknown operator, nor the forms and segments that name it', () => {
    const { project, notUnderstood } = read({
      segments: [
        { id: 'young', where: { trait: 'age', between: [1, 2] } },
        { id: 'old', where: { not: { segment: 'young' } } },
        { id: 'paying', where: { trait: 'plan', is: 'pro' } },
      ],
      forms: [
        { ...NPS, audience: { not: { segment: 'old' } } },
        { ...NPS, id: 'csat', audience: { segment: 'paying' } },
      ],
    })
    expect(notUnderstood.map(({ kind, id }) => `${kind} ${id}`)).toEqual(['segment young', 'segment old', 'form nps'])
    expect(project.segments.map(({ where }) => where)).toEqual([NEVER, NEVER, { trait: 'plan', is: 'pro' }])
    expect(project.forms.map(({ audience }) => audience)).toEqual([NEVER, { segment: 'paying' }])
  })

  it('does not understand entries that are nested too deep for the stack', () => {
    const backend = { name: 'backend', kind: 'admin', environment: 'P', sha256: HASH }
    const { project, notUnderstood } = read({
      segments: [
        { id: 'deep', where: nested(10_000) },
        { id: 'paying', where: nested(62) },
      ],
      forms: [
        { ...NPS, audience: nested(10_000) },
        { ...NPS, id: 'csat', triggers: [{ event: 'a', where: nested(10_000) }] },
        { ...NPS, id: 'flat', audience: { segment: 'paying' } },
      ],
      keys: [{ ...backend, scope: nested(10_000) }, backend],
    })
    expect(notUnderstood.map(({ kind, id }) => `${kind} ${id}`)).toEqual([
      'segment deep',
      'form nps',
      'form csat',
      'key backend',
    ])
    expect(project.segments[1]).toEqual({ id: 'paying', where: nested(62) })
    expect(project.forms[2]).toMatchObject({ audience: { segment: 'paying' } })
    expect(project.keys).toEqual([backend])
  })

  it('reads a long chain of segments whose last one is unknown in linear time', () => {
    const length = 1_000
    const chain = Array.from({ length }, (_, index) => ({ id: `s${index}`, where: { segment: `s${index + 1}` } }))
    const lookUps = [Set.prototype, Map.prototype].map((prototype) => vi.spyOn(prototype, 'has'))
    onTestFinished(() => lookUps.forEach((spy) => spy.mockRestore()))
    const { notUnderstood } = read({ segments: chain })
    expect(notUnderstood.map(({ id }) => id)).toEqual(chain.map(({ id }) => id))
    const looked = lookUps.reduce((sum, spy) => sum + spy.mock.calls.length, 0)
    expect(looked).toBeLessThan(20 * length)
  })

  it('understands the entries that name a repeated segment while one of the repetitions is understood', () => {
    const paying = { id: 'paying', where: { trait: 'plan', is: 'pro' } }
    const later = { id: 'paying', where: { trait: 'plan', near: 1 } }
    const named = { id: 'named', where: { segment: 'paying' } }
    expect(read({ segments: [later, paying, named] }).notUnderstood.map(({ id }) => id)).toEqual(['paying'])
    expect(read({ segments: [later, later, named] }).notUnderstood.map(({ id }) => id)).toEqual([
      'paying',
      'paying',
      'named',
    ])
  })

  it('refuses a key with an unknown member, because the member may restrict the key', () => {
    const backend = { name: 'backend', kind: 'admin', environment: 'P', sha256: HASH }
    const { project, notUnderstood } = read({
      keys: [
        { ...backend, expiresAt: '2026-12-01' },
        { ...backend, name: 'web' },
      ],
    })
    expect(project.keys.map(({ name }) => name)).toEqual(['web'])
    expect(notUnderstood).toMatchObject([{ kind: 'key', id: 'backend' }])
  })

  it.each([
    ['a setting of another shape', { projects: [{ id: 'shop', formCooldown: { days: 1 } }] }],
    ['forms of another shape', { projects: [{ id: 'shop', forms: { nps: {} } }] }],
    ['no projects that can be read', { projects: 'elsewhere' }],
  ])('cannot read one with %s', (_name, members) => {
    expect(readOrganizationConfig({ id: 'acme', ...members })).toMatchObject({ outcome: 'unreadable' })
  })

  it.each([undefined, 7, 'text', []])('cannot read %j', (json) => {
    expect(readOrganizationConfig(json)).toMatchObject({ outcome: 'unreadable' })
  })
})

const many = (value: unknown) => Array.from({ length: 150_000 }, () => value)

describe('a record of another program', () => {
  it.each([
    ['settings', { traits: many(1) }],
    ['fields', { allowedFields: many(1) }],
  ])('is unreadable for one reason if its %s have very many faults', (_name, members) => {
    const reading = readOrganizationConfig({ id: 'acme', projects: [{ id: 'shop', ...members }] })
    expect(reading).toEqual({ outcome: 'unreadable', reason: 'value: has too many faults' })
  })

  it('has a form that is not understood for one reason if it has very many faults', () => {
    const { notUnderstood } = read({ forms: [{ id: 'x'.repeat(10_000), triggers: many(1) }] })
    expect(notUnderstood).toEqual([
      { project: 'shop', kind: 'form', id: 'x'.repeat(200), reason: 'value: has too many faults' },
    ])
  })
})
