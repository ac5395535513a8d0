import { durationMs } from '../primitives.ts'
import { describe, expect, it } from 'vitest'
import { Condition } from './condition.ts'
import { Form, OrganizationConfig, WorkspaceFile } from './organization-config.ts'

describe('the configuration of an organization', () => {
  it('needs only ids and fills in every default (decisions.md: only ids are required)', () => {
    const config = OrganizationConfig.parse({ id: 'acme', projects: [{ id: 'shop', forms: [{ id: 'nps' }] }] })
    expect(config.plan).toEqual({})
    expect(config.projects[0]).toMatchObject({
      clientCreatedTraits: true,
      clientCreatedEvents: true,
      requireUserSignature: false,
      formCooldown: '0s',
      sdk: { pingAgainInSeconds: 60, pingOnNextPageVisit: false, onPageDelaySeconds: 0 },
      rateLimits: { admin: { perSecond: 100, burst: 200 }, sdk: { perSecond: 100, burst: 200 } },
    })
    expect(config.projects[0]?.allowedFields).toEqual(expect.arrayContaining(['$deviceOs', 'email', 'name']))
    expect(config.projects[0]?.allowedFields).not.toContain('phone')
    expect(config.projects[0]?.forms[0]).toMatchObject({
      enabled: true,
      triggers: [],
      sample: 100,
      frequency: { repeat: 'once' },
      cooldown: { ignore: false },
      priority: 0,
      delay: '0s',
    })
  })

  it('refuses an unknown member and names its place', () => {
    const parsed = WorkspaceFile.safeParse({
      organizations: [{ id: 'acme', projects: [{ id: 'shop', colour: 'red' }] }],
    })
    expect(parsed.error?.issues[0]).toMatchObject({
      code: 'unrecognized_keys',
      path: ['organizations', 0, 'projects', 0],
    })
  })

  it.each(['ACME', 'a'.repeat(64), '', 'a_b'])('refuses %j as an id', (id) => {
    expect(OrganizationConfig.safeParse({ id }).success).toBe(false)
  })

  it('accepts every kind of trigger in forms.md', () => {
    const triggers = [
      { event: 'checkout_completed' },
      { event: 'search_done', count: 3, within: '7d' },
      { event: 'video_played', count: 2, since: 'session' },
      { event: 'paid', count: 3, within: '7d', where: { property: 'total', atLeast: 100 } },
      { firstSeen: { after: '3d' } },
      { visit: {} },
    ]
    expect(Form.parse({ id: 'nps', triggers }).triggers).toEqual(triggers)
  })

  it('refuses a count above the 50 occurrences that are kept (forms.md)', () => {
    expect(Form.safeParse({ id: 'nps', triggers: [{ event: 'x', count: 51 }] }).success).toBe(false)
  })
})

describe('a condition', () => {
  it.each([
    { all: [{ trait: 'plan', is: 'pro' }, { not: { segment: 'churned' } }] },
    { any: [{ country: 'DE' }, { country: { in: ['AT', 'CH'] } }] },
    { device: '$deviceOs', is: 'iOS' },
    { event: 'export_done', atLeast: 2, within: '7d' },
    { event: 'export_done', exactly: 0 },
    { event: 'paid', atLeast: 2, within: '7d', where: { any: [{ property: 'total', atLeast: 100 }] } },
    { trait: 'renewal', before: '-30d' },
  ])('is parsed without a change: %j', (condition) => {
    expect(Condition.parse(condition)).toEqual(condition)
  })

  it.each([
    ['an unknown kind of leaf', { colour: 'red' }, [], 'must be one of all, any, not, trait'],
    ['two operators', { trait: 'plan', is: 'pro', isNot: 'free' }, [], 'needs exactly one of'],
    ['no operator', { event: 'x' }, [], 'needs exactly one of'],
    [
      'an error deep inside',
      { all: [{ not: { trait: 'a', atLeast: 'many' } }] },
      ['all', 0, 'not', 'atLeast'],
      'expected number',
    ],
  ])('with %s is refused at the place of the error', (_name, condition, path, message) => {
    const issue = Condition.safeParse(condition).error?.issues[0]
    expect(issue?.path).toEqual(path)
    expect(issue?.message).toContain(message)
  })
})

describe('a duration', () => {
  it.each([
    ['90s', 90_000],
    ['15m', 900_000],
    ['6h', 21_600_000],
    ['7d', 604_800_000],
  ])('%s is %i ms', (text, ms) => expect(durationMs(text)).toBe(ms))
})
