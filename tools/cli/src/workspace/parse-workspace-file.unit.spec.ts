import { decryptSigningSecret } from '@nextvisit/catalog'
import { countArraySteps } from '@nextvisit/contracts/count-array-steps'
import { createApiKey, hashApiKey } from '@nextvisit/domain'
import { sealedWith } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { describe, expect, it } from 'vitest'
import { parseWorkspaceFile } from './parse-workspace-file.ts'

const SECRET_KEY = 'ab'.repeat(32)
const ADMIN_KEY = createApiKey('admin', 'P', new Uint8Array(32).fill(7))
const ENV = {
  ADMIN_KEY,
  SIGNING_SECRET: 'a signing secret',
  NEXTVISIT_SECRET_KEY: SECRET_KEY,
  EMPTY: '',
  TWO_SECRETS: 'one,',
}

/** Returns a file with one project. The lines follow its `id`, so the first of them is line 5. */
function project(...lines: string[]): string {
  return [
    'organizations:',
    '  - id: acme',
    '    projects:',
    '      - id: shop',
    ...lines.map((line) => `        ${line}`),
  ].join('\n')
}

/** Returns a file with a form that compares a property with a value, on line 6. */
function comparison(value: string): string {
  return project(
    'forms:',
    `  - { id: nps, name: NPS, triggers: [{ event: x, where: { property: id, is: ${value} } }] }`,
  )
}

function faultsOf(text: string, env: Readonly<Record<string, string>> = ENV): string[] {
  const parsed = parseWorkspaceFile(text, env)
  return parsed.outcome === 'ok' ? [] : parsed.faults.map(({ line, path, message }) => `${line} ${path}: ${message}`)
}

describe('a workspace file', () => {
  it('needs only ids, and all other members have defaults', () => {
    const parsed = parseWorkspaceFile(project(), {})
    expect(parsed).toMatchObject({
      outcome: 'ok',
      organizations: [
        {
          id: 'acme',
          plan: {},
          projects: [
            {
              id: 'shop',
              clientCreatedTraits: true,
              requireUserSignature: false,
              formCooldown: '0s',
              keys: [],
              forms: [],
            },
          ],
        },
      ],
    })
  })

  it('reads keys from the environment and keeps only their hash', () => {
    const parsed = parseWorkspaceFile(
      project('keys: [{ name: b, kind: admin, environment: P, secret: $ADMIN_KEY }]'),
      ENV,
    )
    expect(parsed).toMatchObject({
      organizations: [
        { projects: [{ keys: [{ name: 'b', kind: 'admin', environment: 'P', sha256: hashApiKey(ADMIN_KEY) }] }] },
      ],
    })
    expect(JSON.stringify(parsed)).not.toContain(ADMIN_KEY)
  })

  it('lets admin keys of both environments erase users', () => {
    const keys = ['P', 'T'].map((environment, nth) => {
      return { name: environment, kind: 'admin', environment, mayErase: true, sha256: `${nth}`.repeat(64) }
    })
    const parsed = parseWorkspaceFile(project(`keys: ${JSON.stringify(keys)}`), ENV)
    expect(parsed).toMatchObject({ organizations: [{ projects: [{ keys }] }] })
  })

  it('encrypts a signing secret for its project', () => {
    const parsed = parseWorkspaceFile(project('signingSecret: $SIGNING_SECRET'), ENV)
    const encrypted = parsed.outcome === 'ok' ? (parsed.organizations[0]?.projects[0]?.signingSecret ?? '') : ''
    expect(JSON.stringify(parsed)).not.toContain(ENV.SIGNING_SECRET)
    const ref = { organization: 'acme', project: 'shop' }
    const keyRing = givenKeyRing(SECRET_KEY)
    expect(decryptSigningSecret(encrypted, keyRing, ref)).toEqual({ outcome: 'decrypted', secret: ENV.SIGNING_SECRET })
    expect(decryptSigningSecret(encrypted, keyRing, { ...ref, project: 'other' })).toEqual({ outcome: 'damaged' })
    const missing = { outcome: 'missing-key', keyId: keyRing.newestKeyId }
    expect(decryptSigningSecret(encrypted, givenKeyRing('cd'.repeat(32)), ref)).toEqual(missing)
    expect(decryptSigningSecret(encrypted, undefined, ref)).toEqual(missing)
  })

  it('encrypts with the first of several secret keys', () => {
    const env = { ...ENV, NEXTVISIT_SECRET_KEY: `${'cd'.repeat(32)},${SECRET_KEY}` }
    const parsed = parseWorkspaceFile(project('signingSecret: $SIGNING_SECRET'), env)
    const encrypted = parsed.outcome === 'ok' ? (parsed.organizations[0]?.projects[0]?.signingSecret ?? '') : ''
    expect(sealedWith(encrypted)).toBe(givenKeyRing('cd'.repeat(32)).newestKeyId)
  })

  it.each([
    ['ab', 'key 1 must be 64 hexadecimal characters'],
    [`${SECRET_KEY},${SECRET_KEY.slice(1)}`, 'key 2 must be 64 hexadecimal characters'],
    [`${SECRET_KEY},${SECRET_KEY}`, 'key 2 is the same as key 1; remove one'],
  ])('refuses the secret keys %s without printing one', (value, reason) => {
    const faults = faultsOf(project('signingSecret: $SIGNING_SECRET'), { ...ENV, NEXTVISIT_SECRET_KEY: value })
    expect(faults).toEqual([expect.stringMatching(new RegExp(`^5 .*NEXTVISIT_SECRET_KEY: ${reason}$`))])
    expect(faults.join()).not.toMatch(/(ab){4}/)
  })

  it('treats null as an absent member', () => {
    expect(faultsOf(project('forms:', 'plan:'))).toEqual([
      '6 organizations[0].projects[0].plan: is not a known member: it belongs beside projects, not into it',
    ])
  })

  it('does not compare a key with an invalid kind', () => {
    const key = '{ name: b, kind: admn, environment: P, secret: $ADMIN_KEY }'
    expect(faultsOf(project('keys:', `  - ${key}`))).toEqual([
      '6 organizations[0].projects[0].keys[0].kind: must be one of admin, sdk',
    ])
  })

  it('may use an anchor', () => {
    expect(
      faultsOf(project('forms:', '  - &nps { id: a, triggers: [{ visit: {} }] }', '  - { <<: *nps, id: b }')),
    ).toEqual(['7 organizations[0].projects[0].forms[1].<<: is not a known member'])
    expect(
      faultsOf(project('segments:', '  - { id: a, where: &w { trait: x, is: 1 } }', '  - { id: b, where: *w }')),
    ).toEqual([])
  })

  it('may count events by their properties, within a bound', () => {
    const first = '  - { id: nps, triggers: [{ event: E0, count: 2, where: { property: a, is: 0 } }] }'
    const faults = (counted: readonly Counted[]) =>
      faultsOf(project('forms:', first, 'segments:', ...counted.map(segmentThatCounts)))
    expect(faults(countsOf(100, 10))).toEqual([])
    expect(faults([...countsOf(10, 1), ['E0', 3], ['e1', 3]])).toEqual([])
    const at = 'organizations[0].projects[0].segments'
    expect(faults(countsOf(12, 1))).toEqual([
      `18 ${at}[10].where.where: project shop counts the event e0 with 12 different where conditions; the maximum is 10`,
    ])
    expect(faults(countsOf(101, 101))).toEqual([
      `108 ${at}[100].where.where: project shop counts events with 101 different where conditions; the maximum is 100`,
    ])
  })

  const form = (members: string) => project('forms:', `  - { id: nps, ${members} }`)
  const where = 'organizations[0].projects[0]'
  it.each([
    ['an empty file', '', '1 : the file must begin with organizations:'],
    ['a list at the top', '- id: acme', '1 : the file must begin with organizations:'],
    ['no organizations', 'plan: {}', '1 organizations: is missing'],
    ['broken YAML', 'organizations: [', /^1 : Flow sequence/],
    ['a member that is there twice', 'organizations: []\norganizations: []', '2 : this member is duplicated'],
    ['a second document', 'organizations: []\n---\na: 1', '2 : a file has only one document: remove the --- here'],
    ['an unknown tag', 'organizations: !!js/function x', /^1 : Unresolved tag/],
    ['a missing alias', 'organizations: *nobody', /^1 : Unresolved alias/],
    ['aliases that multiply', bomb(), /^1 : Excessive alias count/],
    [
      'an alias that contains itself',
      'organizations: &a\n  - id: acme\n    projects: *a',
      '1 : nested deeper than 64 levels',
    ],
    [
      'a text that looks like a member',
      'organizations:\n  - { id: acme }\n  - id: How: it was',
      /^3 : Nested mappings are not allowed in compact mappings: quote a text that contains ": "$/,
    ],
    [
      'such a text in braces',
      'organizations:\n  - { id: How: it was }',
      /^2 : Block collections are .*: quote a text that contains ": "$/,
    ],
    ['nesting without end', `organizations: ${'['.repeat(5_000)}`, /^1 : nested too deeply/],
    ['an unknown member', project('colour: red'), `5 ${where}.colour: is not a known member`],
    ['a member named __proto__', project('__proto__: {}'), `5 ${where}.__proto__: is not a known member`],
    ['a bad id', 'organizations:\n  - id: Acme', /^2 organizations\[0\]\.id: must be 1 to 63 of/],
    ['a number for an id', 'organizations:\n  - id: 7', /^2 organizations\[0\]\.id: must be a text/],
    ['a missing id', 'organizations:\n  - plan: {}', '2 organizations[0].id: is missing'],
    [
      'a negative limit',
      'organizations:\n  - id: a\n    plan: { uniqueEvents: -1 }',
      /^3 .*uniqueEvents: must be at least 0$/,
    ],
    [
      'half a limit',
      'organizations:\n  - id: a\n    plan: { uniqueEvents: 1.5 }',
      /^3 .*uniqueEvents: must be a whole number$/,
    ],
    [
      'an organization twice',
      'organizations:\n  - id: a\n  - id: a',
      '3 organizations[1].id: organization a is duplicated',
    ],
    [
      'a project twice',
      project().concat('\n      - id: shop'),
      '5 organizations[0].projects[1].id: project shop is duplicated',
    ],
    ['an unknown field', project('allowedFields: [emial]'), /^5 .*allowedFields\[0\]: must be one of \$countryCode, /],
    [
      'an event twice, by its slug',
      project('events:', '  - { slug: a b }', '  - { slug: A-B }'),
      /^7 .*event A-B is duplicated$/,
    ],
    ['a signature without a secret', project('requireUserSignature: true'), /^5 .*needs a signingSecret/],
    [
      'a variable that is not set',
      project('signingSecret: $NOPE'),
      /^5 .*signingSecret: the environment variable NOPE is not set$/,
    ],
    ['a variable that is empty', project('signingSecret: $EMPTY'), /^5 .*the environment variable EMPTY is not set$/],
    [
      'an empty signing secret beside another',
      project('signingSecret: $TWO_SECRETS'),
      /^5 .*signingSecret: must hold one secret, or up to 3 separated by commas/,
    ],
    ['a secret in the file', project('signingSecret: hunter2'), /^5 .*must name an environment variable, as \$NAME$/],
    [
      'a key without a secret',
      project('keys: [{ name: b, kind: sdk, environment: P }]'),
      /^5 .*keys\[0\]: needs exactly one of/,
    ],
    [
      'a key with a bad kind',
      project('keys:', '  - { name: b, kind: web, environment: P, secret: $ADMIN_KEY }'),
      /^6 .*kind: must be one of admin, sdk$/,
    ],
    [
      'a publishable key that may erase',
      project(
        'keys:',
        '  - name: b',
        '    kind: sdk',
        '    environment: P',
        '    mayErase: true',
        `    sha256: ${'a'.repeat(64)}`,
      ),
      /^9 .*keys\[0\]\.mayErase: is only for admin keys/,
    ],
    [
      'a permission that is no boolean',
      project('keys: [{ name: b, kind: admin, environment: P, secret: $ADMIN_KEY, mayErase: yes please }]'),
      /^5 .*mayErase: must be true or false/,
    ],
    [
      'a bad hash',
      project('keys:', '  - { name: b, kind: sdk, environment: P, sha256: abc }'),
      /^6 .*sha256: must be 64 hex characters$/,
    ],
    [
      'a secret that is not a key',
      project('keys: [{ name: b, kind: sdk, environment: P, secret: $SIGNING_SECRET }]'),
      /^5 .*SIGNING_SECRET does not hold a key/,
    ],
    [
      'a key of another environment',
      project('keys: [{ name: b, kind: admin, environment: T, secret: $ADMIN_KEY }]'),
      /^5 .*holds an admin key for environment P/,
    ],
    [
      'a count that is too high',
      form('triggers: [{ event: x, count: 51 }]'),
      /^6 .*triggers\[0\]\.count: must be at most 50: no more/,
    ],
    [
      'an unknown trigger',
      form('triggers: [{ evnt: x }]'),
      /^6 .*triggers\[0\]: must be one of event, firstSeen, visit, answered: did you mean event\?$/,
    ],
    [
      'a trigger with a typo',
      form('triggers: [{ event: x, cuont: 2 }]'),
      /^6 .*triggers\[0\]\.cuont: is not a known member/,
    ],
    [
      'a typo in the where of a trigger',
      form('triggers: [{ event: x, where: { all: [{ property: total, atLaest: 100 }] } }]'),
      /^6 .*triggers\[0\]\.where\.all\[0\]\.atLaest: is not a known member/,
    ],
    [
      'two operators on a property',
      form('triggers: [{ event: x, where: { property: a, is: 1, in: [1] } }]'),
      /^6 .*triggers\[0\]\.where: needs exactly one of is, isNot/,
    ],
    [
      'a trigger with a condition on a trait',
      form('triggers: [{ event: x, where: { trait: plan, is: pro } }]'),
      /^6 .*triggers\[0\]\.where: must be one of all, any, not, property$/,
    ],
    [
      'a typo in the where of a counting trigger',
      form('triggers: [{ event: x, count: 2, where: { property: a, si: 1 } }]'),
      /^6 .*triggers\[0\]\.where\.si: is not a known member/,
    ],
    [
      'an audience that counts by a trait',
      form('audience: { not: { event: x, atLeast: 2, where: { trait: a, is: 1 } } }'),
      /^6 .*audience\.not\.where: must be one of all, any, not, property$/,
    ],
    ['an event without a slug', form('triggers: [{ event: "!!!" }]'), /^6 .*event: must contain a letter or a digit$/],
    ['a system event', form('triggers: [{ event: "form:shown" }]'), /^6 .*names a system event/],
    [
      'a segment that counts a system event',
      project('segments:', '  - { id: a, where: { not: { event: "form:shown", atLeast: 1 } } }'),
      /^6 .*segments\[0\]\.where\.not\.event: names a system event/,
    ],
    [
      'a segment that counts an event without a slug',
      project('segments:', '  - { id: a, where: { event: "!!!", atLeast: 1 } }'),
      /^6 .*segments\[0\]\.where\.event: must contain a letter or a digit$/,
    ],
    [
      'a number that would be rounded',
      form('triggers: [{ event: x, where: { property: id, is: 12345678901234567890 } }]'),
      /^6 .*12345678901234567890 would be rounded to 12345678901234567000: write it as text, in quotes$/,
    ],
    [
      'half of an emoji',
      form(String.raw`name: "NPS \uD83D"`),
      /^6 .*forms\[0\]\.name: contains U\+0000 or a lone surrogate/,
    ],
    [
      'U+0000 in an operand',
      form(String.raw`audience: { trait: x, in: ["a", "b\0"] }`),
      /^6 .*audience\.in\[1\]: contains U\+0000 or a lone/,
    ],
    [
      'a member whose name is an alias',
      project('formCooldown: &name formCooldown', '*name : 5s'),
      '6 : write the name of the member instead of *name',
    ],
    ['aliases of aliases', aliasesOfAliases(8), '1 : its aliases expand to more than 2000000 values'],
    ['a bad duration', form('delay: 2 hours'), /^6 .*delay: must be a duration such as/],
    ['a bad repeat', form('frequency: { repeat: twice }'), /^6 .*repeat: must be once, always, \{ every: 30d \}/],
    ['a bad instant', form('startsAt: tomorrow'), /^6 .*startsAt: must be an instant such as/],
    [
      'an end before its start',
      form('startsAt: 2026-02-01T00:00:00Z, endsAt: 2026-01-01T00:00:00Z'),
      /^6 .*endsAt: must be after startsAt$/,
    ],
    [
      'an unknown condition',
      form('audience: { all: [{ tarit: x }] }'),
      /^6 .*audience\.all\[0\]: must be one of all, any, not, trait/,
    ],
    [
      'a typo deep in a condition',
      form('audience: { not: { any: [{ trait: x, si: 1 }] } }'),
      /^6 .*audience\.not\.any\[0\]\.si: is not a known member/,
    ],
    ['two operators', form('audience: { trait: x, is: 1, isNot: 2 }'), /^6 .*audience: needs exactly one of is, isNot/],
    [
      'an unknown segment',
      form('audience: { not: { segment: churned } }'),
      /^6 .*not\.segment: there is no segment churned/,
    ],
    [
      'a segment that refers to itself',
      project('segments:', '  - { id: a, where: { not: { segment: a } } }'),
      /^6 .*segment a refers to itself: a → a$/,
    ],
  ])('with %s is refused at its line', (_name, text, expected) => {
    const [first, ...others] = faultsOf(text)
    const isExpected = typeof expected === 'string' ? first === expected : expected.test(first ?? '')
    expect({ first, isExpected }).toEqual({ first, isExpected: true })
    expect(others.filter((fault) => !fault.startsWith(`${first?.split(' ')[0]} `))).toEqual([])
  })

  it('with very many faults is refused for one reason', () => {
    expect(faultsOf(project(`allowedFields: [${many(150_000, () => '1').join(',')}]`))).toEqual([
      '1 : has too many faults',
    ])
  })

  it.each([
    ['unknown members', (count: number) => project(...many(count, (at) => `m${at}: 1`)), 1_000],
    ['duplicate members', (count: number) => project(...many(count, (at) => `m${at % (count / 2)}: 1`)), 500],
    [
      'unknown members in one line',
      (count: number) => project(`sdk: { ${many(count, (at) => `m${at}: 1`).join(', ')} }`),
      1_000,
    ],
    ['wrong items', (count: number) => project('forms:', ...many(count, () => '  - { colour: red }')), 2_000],
    [
      'wrong leaves',
      (count: number) => form(`audience: { all: [${many(count, () => '{ a: 1 }').join(', ')}] }`),
      1_000,
    ],
    [
      'wrong members below an alias',
      (count: number) =>
        project('sdk: &s', ...many(count, (at) => `  m${at}: 1`)).concat('\n      - { id: other, sdk: *s }'),
      2_000,
    ],
    [
      'segments in many cycles',
      (count: number) =>
        project('segments:', ...many(count, (at) => `  - { id: s${at}, where: { all: [${cycle(at, count)}] } }`)),
      10,
    ],
  ])('with many %s is checked in time that grows with its size', (_what, fileOf, faults) => {
    const stepsOf = (count: number) => countArraySteps(() => faultsOf(fileOf(count)))
    expect(faultsOf(fileOf(1_000)).length).toBe(faults)
    expect(stepsOf(1_000) / stepsOf(500)).toBeLessThan(2.5)
  })

  it.each([
    '0x20000000000001',
    '0o400000000000000001',
    '9007199254740993.',
    '009007199254740993',
    '+9007199254740993',
    '-9007199254740993',
    '.9007199254740993e16',
    '!!int 9007199254740993',
  ])('refuses a number that would be rounded, however it is written: %s', (number) => {
    expect(faultsOf(comparison(number))).toEqual([
      expect.stringMatching(/^6 .* would be rounded to -?9007199254740992: write it as text, in quotes$/),
    ])
  })

  it.each(['1e999', '-1e999', `0x${'f'.repeat(300)}`])('refuses a number that is too large: %s', (number) => {
    expect(faultsOf(comparison(number))).toEqual([expect.stringMatching(/^6 .* is too large: write it as text/)])
  })

  it.each(['.inf', '-.inf', '.nan'])('refuses a value that is no number: %s', (number) => {
    expect(faultsOf(comparison(number))).toEqual([
      expect.stringMatching(/^6 .*where\.is: must be a text, a finite number, true or false$/),
    ])
    expect(faultsOf(project('forms:', `  - { id: nps, priority: ${number} }`))).toEqual([
      expect.stringMatching(/^6 .*priority: must be a finite number$/),
    ])
  })

  it.each(['.9007199254740993', '+.5', '05', '0x1fffffffffffff', '-1.', '0.10000000000000000001', '9007199254740992'])(
    'takes a number that keeps its value: %s',
    (number) => {
      expect(faultsOf(comparison(number))).toEqual([])
    },
  )

  it('has a bounded number of aliases, because each looks for its anchor', () => {
    expect(faultsOf(withAliases(50))).toEqual([])
    expect(faultsOf(withAliases(1_002))).toEqual(['1007 : a file has at most 1000 aliases'])
  })

  it('reports a cycle once', () => {
    const text = project(
      'segments:',
      '  - { id: a, where: { segment: b } }',
      '  - { id: b, where: { all: [{ segment: c }, { trait: x, is: 1 }] } }',
      '  - { id: c, where: { any: [{ not: { segment: a } }] } }',
    )
    expect(faultsOf(text)).toEqual([
      '6 organizations[0].projects[0].segments[0]: segment a refers to itself: a → b → c → a',
    ])
  })

  it('accepts a segment that two paths lead to', () => {
    const text = project(
      'segments:',
      '  - { id: a, where: { all: [{ segment: b }, { segment: c }] } }',
      '  - { id: b, where: { segment: d } }',
      '  - { id: c, where: { segment: d } }',
      '  - { id: d, where: { trait: x, exists: true } }',
    )
    expect(faultsOf(text)).toEqual([])
  })

  it('refuses one key in two projects, as a secret and as a hash', () => {
    const text = `${project('keys: [{ name: first, kind: admin, environment: P, secret: $ADMIN_KEY }]')}
      - id: other
        keys: [{ name: second, kind: admin, environment: P, sha256: ${hashApiKey(ADMIN_KEY)} }]`
    expect(faultsOf(text)).toEqual(['7 organizations[0].projects[1].keys[0]: is the same key as first; create another'])
  })

  it('bounds the names that a project declares (decisions.md, Bounds)', () => {
    expect(faultsOf(project(traits(5_000), events(10_000)))).toEqual([])
    expect(faultsOf(project(traits(5_001), events(10_001)))).toEqual([
      `5 ${where}.traits: project shop declares 5001 traits; the maximum is 5000`,
      `6 ${where}.events: project shop declares 10001 events; the maximum is 10000`,
    ])
    expect(faultsOf(project(traits(2_000, 100)))).toEqual([
      `5 ${where}.traits: project shop disables 2000 traits whose slugs have 399111 bytes as JSON; the maximum is 262144`,
    ])
    expect(faultsOf(project(traits(2_000, 100, true)))).toEqual([])
  })

  it('needs the secret key to encrypt a signing secret', () => {
    const { NEXTVISIT_SECRET_KEY: _, ...env } = ENV
    expect(faultsOf(project('signingSecret: $SIGNING_SECRET'), env)).toEqual([
      expect.stringMatching(/^5 .*NEXTVISIT_SECRET_KEY must be set to 32 bytes as 64 hex characters/),
    ])
  })

  it('reports all faults at once, in the order of their lines', () => {
    const text = project(
      'colour: red',
      'forms:',
      '  - { id: a, delay: soon, triggers: [{ event: x, count: 99 }] }',
      '  - { id: a, audience: { segment: nobody } }',
      'signingSecret: $NOPE',
    )
    expect(faultsOf(text).map((fault) => Number(fault.split(' ')[0]))).toEqual([5, 7, 7, 8, 8, 9])
  })
})

/** Returns nested aliases; each level contains the previous one ten times. */
function aliasesOfAliases(levels: number): string {
  const lines = Array.from(
    { length: levels },
    (_, at) => `x${at + 1}: &a${at + 1} [${Array(10).fill(`*a${at}`).join(', ')}]`,
  )
  return ['organizations: []', 'x0: &a0 []', ...lines].join('\n')
}

function traits(count: number, padTo = 1, enabled = false): string {
  const all = Array.from({ length: count }, (_, nth) => ({ slug: `${nth}`.padEnd(padTo, 'ü'), enabled }))
  return `traits: ${JSON.stringify(all)}`
}

/** An event name and the value of its property `a`. */
type Counted = readonly [event: string, is: number]

/** Returns `length` different counts of `names` events. */
function countsOf(length: number, names: number): readonly Counted[] {
  return Array.from({ length }, (_, at) => [`e${at % names}`, Math.floor(at / names)] as const)
}

function segmentThatCounts([event, is]: Counted, at: number): string {
  return `  - { id: s${at}, where: { event: ${event}, atLeast: 1, where: { property: a, is: ${is} } } }`
}

function events(count: number): string {
  return `events: ${JSON.stringify(Array.from({ length: count }, (_, nth) => ({ slug: `e${nth}` })))}`
}

function bomb(): string {
  const levels = Array.from(
    { length: 9 },
    (_, at) =>
      `  - &l${at} [${Array(9)
        .fill(at ? `*l${at - 1}` : 'x')
        .join(', ')}]`,
  )
  return ['organizations:', ...levels].join('\n')
}

/** A segment that names the next one and the first: each closes a cycle. */
function cycle(at: number, count: number): string {
  return `{ segment: s${(at + 1) % count} }, { segment: s0 }`
}

/** Segments of which the first has an anchor, and the others an alias of it. */
function withAliases(count: number): string {
  return project(
    'segments:',
    ...many(count, (at) => `  - { id: s${at}, where: ${at === 0 ? '&w { trait: x, is: 1 }' : '*w'} }`),
  )
}

function many(count: number, line: (at: number) => string): readonly string[] {
  return Array.from({ length: count }, (_, at) => line(at))
}
