import { emptyCatalog, encryptSigningSecret, encryptWebhookSecret, foldCatalog } from '@nextvisit/catalog'
import { OrganizationConfig } from '@nextvisit/contracts'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { describe, expect, it } from 'vitest'
import { adviceOn, secretKeysOf } from './secret-keys.ts'
import type { StoredKeys } from './stored-keys.ts'

const [OLD, NEW] = ['ab'.repeat(32), 'cd'.repeat(32)]
const [oldId, newId] = [givenKeyRing(OLD).newestKeyId, givenKeyRing(NEW).newestKeyId]

const NOW = new Date('2026-11-28T12:00:00.000Z')

/** A catalog whose projects have a signing secret under these keys. */
function catalogOf(projects: Readonly<Record<string, string>>) {
  return catalogWith(
    Object.entries(projects).map(([id, key]) => {
      const signingSecret = encryptSigningSecret('a secret', givenKeyRing(key), { organization: 'acme', project: id })
      return { id, signingSecret }
    }),
  )
}

function catalogWith(projects: readonly object[]) {
  const state = emptyCatalog()
  const config = OrganizationConfig.parse({ id: 'acme', projects })
  const id = '00000000-0000-4000-8000-000000000000'
  foldCatalog(state, { outcome: 'read', id, organization: 'acme', revision: 1, config, notUnderstood: [] })
  return state
}

/** The uses of keys and the advice, as the steps of a rotation show them. */
function statusOf(
  projects: Readonly<Record<string, string>>,
  gateways: Readonly<Record<string, readonly string[]>>,
  ...ring: readonly string[]
) {
  return statusWith({ dataKeys: new Map(), installationKeys: new Map() }, projects, gateways, ...ring)
}

/** As {@link statusOf}, with keys in Postgres. */
function statusWith(
  stored: StoredKeys,
  projects: Readonly<Record<string, string>>,
  gateways: Readonly<Record<string, readonly string[]>>,
  ...ring: readonly string[]
) {
  const secretKeyIds = new Map(Object.entries(gateways))
  const keyRing = ring.length > 0 ? givenKeyRing(...ring) : undefined
  const keys = secretKeysOf(catalogOf(projects), { secretKeyIds }, keyRing, stored, NOW)
  return {
    keys: keys.map(({ keyId, position, use }) => [keyId, position, use]),
    advice: keys.flatMap(adviceOn),
  }
}

/** A secret of webhook crm of acme/shop under a key. */
function sealed(key: string): string {
  return encryptWebhookSecret('whsec_', givenKeyRing(key), { organization: 'acme', project: 'shop', endpointId: 'crm' })
}

/** The status of keys of which the old one encrypts the previous secret of a webhook, which signs until then. */
function statusOfCrm(until: string) {
  const previousSecret = { secret: sealed(OLD), until }
  const crm = { id: 'crm', url: 'https://a.example', secret: sealed(NEW), previousSecret, addedAt: until }
  const state = catalogWith([{ id: 'shop', webhooks: [crm] }])
  const stored = { dataKeys: new Map(), installationKeys: new Map() }
  const keys = secretKeysOf(state, { secretKeyIds: new Map() }, givenKeyRing(NEW, OLD), stored, NOW)
  return [...keys.map(({ use, webhooks }) => [use, webhooks]), keys.flatMap(adviceOn)]
}

describe('the keys of NEXTVISIT_SECRET_KEY', () => {
  it('need no step while one key is everywhere', () => {
    expect(statusOf({ shop: OLD }, { 'gateway.1': [oldId] }, OLD)).toEqual({
      keys: [[oldId, 1, 'encrypts']],
      advice: [],
    })
  })

  it('name the processes that lack a new key, then the secrets that an old one encrypts', () => {
    expect(statusOf({ shop: OLD }, { 'gateway.1': [oldId], 'gateway.2': [newId, oldId] }, NEW, OLD)).toEqual({
      keys: [
        [newId, 1, 'encrypts'],
        [oldId, 2, 'needed'],
      ],
      advice: [
        `gateway.1 lacks key ${newId}: add it to NEXTVISIT_SECRET_KEY there before you apply.`,
        `Key ${oldId} still encrypts the signing secret of acme/shop: apply the workspace file again.`,
      ],
    })
  })

  it.each([
    ['before the first apply with it', OLD],
    ['after another shell applied with it', NEW],
  ])('name a new key that the processes hold and this command lacks, %s', (_, applied) => {
    expect(statusOf({ shop: applied }, { 'gateway.1': [newId, oldId], 'gateway.2': [oldId] }, OLD)).toEqual({
      keys: [
        [oldId, 1, 'encrypts'],
        [newId, null, 'missing'],
      ],
      advice: [
        `gateway.1 holds key ${newId}: add it to NEXTVISIT_SECRET_KEY here before you apply.`,
        `gateway.2 lacks key ${newId}: add it to NEXTVISIT_SECRET_KEY there before you apply.`,
      ],
    })
  })

  it('say that an old key can be removed from the processes if this command lacks it already', () => {
    expect(statusOf({ shop: NEW }, { 'gateway.1': [newId, oldId], 'gateway.2': [oldId] }, NEW)).toMatchObject({
      keys: [
        [newId, 1, 'encrypts'],
        [oldId, null, 'unused'],
      ],
    })
  })

  it('say that an old key can be removed once it encrypts nothing', () => {
    expect(statusOf({ shop: NEW }, { 'gateway.1': [newId, oldId] }, NEW, OLD)).toEqual({
      keys: [
        [newId, 1, 'encrypts'],
        [oldId, 2, 'unused'],
      ],
      advice: [`Key ${oldId} encrypts nothing: remove it from NEXTVISIT_SECRET_KEY.`],
    })
  })

  it.each([
    [{ dataKeys: new Map([[oldId, 2]]) }, `Key ${oldId} still encrypts 2 data keys of users`],
    [{ installationKeys: new Map([[oldId, 2]]) }, `Key ${oldId} still encrypts keys of the installation`],
  ])('need an old key while it encrypts anything in Postgres', (stored, advice) => {
    const none = { dataKeys: new Map([[newId, 3]]), installationKeys: new Map([[newId, 2]]) }
    expect(statusWith({ ...none, ...stored }, { shop: NEW }, { 'gateway.1': [newId, oldId] }, NEW, OLD)).toEqual({
      keys: [
        [newId, 1, 'encrypts'],
        [oldId, 2, 'needed'],
      ],
      advice: [`${advice}: a user eraser whose first key is the newest one encrypts them again.`],
    })
    expect(statusWith(none, { shop: NEW }, { 'gateway.1': [newId, oldId] }, NEW, OLD).keys).toContainEqual([
      oldId,
      2,
      'unused',
    ])
  })

  it('name a key that only data keys in Postgres need', () => {
    const stored = { dataKeys: new Map([[oldId, 1]]), installationKeys: new Map<string, number>() }
    expect(statusWith(stored, {}, { 'gateway.1': [newId] }, NEW).keys).toContainEqual([oldId, null, 'needed'])
  })

  it.each([['dataKeys'], ['installationKeys']])('do not let go of an old key while the %s are not known', (member) => {
    const stored = { dataKeys: new Map(), installationKeys: new Map(), [member]: null }
    expect(statusWith(stored, { shop: NEW }, { 'gateway.1': [newId, oldId] }, NEW, OLD)).toEqual({
      keys: [
        [newId, 1, 'encrypts'],
        [oldId, 2, 'unknown'],
      ],
      advice: [`Keep key ${oldId} in NEXTVISIT_SECRET_KEY until Postgres answers: it may encrypt data keys of users.`],
    })
  })

  it('name a key that was removed too early', () => {
    const projects = { a: OLD, b: OLD, c: OLD, d: OLD, e: NEW }
    expect(statusOf(projects, { 'gateway.1': [newId] }, NEW)).toEqual({
      keys: [
        [newId, 1, 'encrypts'],
        [oldId, null, 'needed'],
      ],
      advice: [
        `gateway.1 lacks key ${oldId}: add it to NEXTVISIT_SECRET_KEY there, unless it is lost.`,
        `Key ${oldId} still encrypts the signing secret of acme/a, acme/b, acme/c and 1 more: apply the workspace file again.`,
      ],
    })
  })

  it('count the secrets of webhooks, and previous ones while they sign', () => {
    expect(statusOfCrm('2026-11-28T12:00:01.000Z')).toEqual([
      ['encrypts', ['acme/shop/crm']],
      ['needed', ['acme/shop/crm']],
      [`Key ${oldId} still encrypts a secret of webhook acme/shop/crm: apply the workspace file again.`],
    ])
    expect(statusOfCrm('2026-11-28T12:00:00.000Z')).toEqual([
      ['encrypts', ['acme/shop/crm']],
      ['unused', []],
      [expect.stringContaining('encrypts nothing')],
    ])
  })

  it('take the first key of the processes as the newest if the command has none', () => {
    expect(statusOf({ shop: NEW }, { 'gateway.1': [newId, oldId] })).toMatchObject({
      keys: [
        [newId, null, 'encrypts'],
        [oldId, null, 'unused'],
      ],
    })
  })
})
