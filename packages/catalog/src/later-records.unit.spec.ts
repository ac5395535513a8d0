import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { OrganizationConfig } from '@nextvisit/contracts'
import { compileForms, compileSegments } from '@nextvisit/domain'
import { describe, expect, it } from 'vitest'
import { emptyCatalog, foldCatalog, lookupsOf } from './fold-catalog.ts'
import { readCatalogRecord } from './read-catalog-record.ts'

const SAMPLES = path.join(import.meta.dirname, '../test/later-records')

/** A record as a later version may write it. Add samples, but never edit one. */
interface Sample {
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly value: string
}

const [BACKEND, WEB, REVOKED] = ['b'.repeat(64), 'c'.repeat(64), 'd'.repeat(64)]

const keyOf = (sha256: string) => ({ name: 'old', kind: 'admin', environment: 'P', sha256 }) as const

const held = (organization: string, revision: number, sha256: string) => ({
  outcome: 'read' as const,
  id: crypto.randomUUID(),
  organization,
  revision,
  config: OrganizationConfig.parse({ id: organization, projects: [{ id: 'shop', keys: [keyOf(sha256)] }] }),
  notUnderstood: [],
})

/** acme at revision 6, with a key that every sample revokes; and a neighbour. Then the sample. */
function foldSample(name: string) {
  const { key, headers, value } = JSON.parse(readFileSync(path.join(SAMPLES, `${name}.json`), 'utf8')) as Sample
  const record = readCatalogRecord({ key: Buffer.from(key), value: Buffer.from(value), headers })
  const state = emptyCatalog()
  foldCatalog(state, held('acme', 6, REVOKED))
  foldCatalog(state, held('other', 1, 'e'.repeat(64)))
  foldCatalog(state, record)
  const lookups = lookupsOf(state)
  const isValid = (sha256: string) => lookups.keyByHash(sha256) !== undefined
  expect(isValid(REVOKED)).toBe(false)
  expect(isValid('e'.repeat(64))).toBe(true)
  return { ...lookups, isValid, shop: lookups.project('acme', 'shop'), state }
}

describe('a record of a later version', () => {
  const ALL_HOLDS = { revision: 7, config: { requireUserSignature: true } }

  it('has a sample for each of these specs', () => {
    expect(readdirSync(SAMPLES)).toHaveLength(12)
  })

  it('with unknown settings is used', () => {
    const { shop, isValid, problems } = foldSample('unknown-settings')
    expect(shop).toMatchObject({ ...ALL_HOLDS, plan: { eventsPerMonth: 1_000 }, notUnderstood: [] })
    expect(shop?.config.forms.map(({ triggers }) => triggers.length)).toEqual([1, 1])
    expect([isValid(BACKEND), isValid(WEB), problems()]).toEqual([true, true, []])
  })

  it.each([
    ['new-operator-in-a-segment', ['segment paying', 'form nps']],
    ['new-operator-in-an-audience', ['form csat']],
    ['new-gate', ['form csat']],
    ['deep-condition', ['form csat']],
  ])('with a %s is used except for the parts that contain it', (sample, expected) => {
    const { shop, isValid, problems } = foldSample(sample)
    expect(shop).toMatchObject(ALL_HOLDS)
    expect(shop?.notUnderstood.map(({ kind, id }) => `${kind} ${id}`)).toEqual(expected)
    expect([isValid(BACKEND), isValid(WEB)]).toEqual([true, true])
    expect(problems()).toMatchObject([{ organization: 'acme', revision: 7, usedRevision: 7 }])
  })

  it('leaves other forms active, and a process that understands its segment computes it again', () => {
    const config = foldSample('new-operator-in-a-segment').shop!.config
    const understood = foldSample('unknown-settings').shop!.config
    const forms = compileForms(config)
    expect(forms.onEvent('checkout')).toEqual([])
    expect(forms.onVisit.map(({ id }) => id)).toEqual(['csat'])
    expect(forms.byId.get('nps')?.isEnabled).toBe(true)
    const pro = {
      profile: { traits: new Map([['plan', 'pro']]), traitBytes: 0, device: {} },
      events: new Map(),
      answers: new Map(),
    }
    expect(compileSegments(config).membershipAt(pro, 0)).toEqual({ segments: [], changesAt: undefined })
    expect(compileSegments(understood).membershipAt(pro, 0).segments).toEqual(['paying'])
    expect(compileSegments(config).fingerprint).not.toBe(compileSegments(understood).fingerprint)
  })

  it('with a key that has an unknown limit refuses that key only', () => {
    const { shop, isValid } = foldSample('limited-key')
    expect(shop).toMatchObject({ ...ALL_HOLDS, notUnderstood: [{ kind: 'key', id: 'web' }] })
    expect([isValid(BACKEND), isValid(WEB)]).toEqual([true, false])
  })

  it('with a webhook of more members or events is used without it, and has a problem, so that it is not taken for removed', () => {
    const { shop, isValid, problems } = foldSample('new-webhook')
    expect(shop).toMatchObject({ ...ALL_HOLDS, config: { webhooks: [{ id: 'crm' }] } })
    expect(shop?.notUnderstood.map(({ kind, id }) => `${kind} ${id}`)).toEqual(['webhook bi', 'webhook news'])
    expect([isValid(BACKEND), isValid(WEB)]).toEqual([true, true])
    expect(problems()).toMatchObject([{ organization: 'acme', revision: 7, usedRevision: 7 }])
  })

  it.each(['setting-of-another-shape', 'newer-schema-version', 'another-type'])(
    'that is a %s decides about keys alone',
    (sample) => {
      const { shop, isValid, problems, revision } = foldSample(sample)
      expect(shop).toMatchObject({ revision: 6, config: { requireUserSignature: false } })
      expect([isValid(BACKEND), isValid(WEB), revision('acme')]).toEqual([true, true, 6])
      expect(problems()).toMatchObject([{ organization: 'acme', revision: 7, usedRevision: 6 }])
    },
  )

  it('with keys of another shape refuses every key', () => {
    const { isValid, problems } = foldSample('keys-of-another-shape')
    expect([isValid(BACKEND), isValid(WEB)]).toEqual([false, false])
    expect(problems()).toMatchObject([{ organization: 'acme', revision: 7, usedRevision: 6 }])
  })

  it('that is not even JSON refuses every key, and the next revision is not skipped', () => {
    const { isValid, problems, state } = foldSample('not-json')
    expect([isValid(BACKEND), isValid(WEB)]).toEqual([false, false])
    expect(problems()).toMatchObject([{ organization: 'acme', revision: null, usedRevision: 6 }])
    expect(state.organizations.get('acme')?.latestRevision).toBe(6)
  })
})
