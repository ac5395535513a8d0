import { createHmac } from 'node:crypto'
import { type CatalogProject, encryptSigningSecret } from '@nextvisit/catalog'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import type { KeyRing } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { describe, expect, it } from 'vitest'
import { createSigningSecrets, describeUndecryptable } from './signing-secrets.ts'
import { createCheckSignature } from './user-signature.ts'

const [OLD, NEW] = ['ab'.repeat(32), 'cd'.repeat(32)]
const oldRing = givenKeyRing(OLD)
const oldId = oldRing.newestKeyId

function catalogWith(requireUserSignature: boolean, encrypted?: string) {
  const shop = { id: 'shop', requireUserSignature, ...(encrypted !== undefined && { signingSecret: encrypted }) }
  return staticCatalog([organizationConfig({ id: 'acme', projects: [shop] })])
}

function projectIn(catalog: ReturnType<typeof catalogWith>): CatalogProject {
  const project = catalog.project('acme', 'shop')
  if (!project) throw new Error('there must be a project')
  return project
}

const encrypt = (secret: string, keyRing: KeyRing = oldRing, project = 'shop') =>
  encryptSigningSecret(secret, keyRing, { organization: 'acme', project })
const sign = (userName: string, secret: string) => createHmac('sha256', secret).update(userName).digest('hex')

/** The signing secrets of a catalog, as a gateway with these keys has them. */
function gatewayWith(keyRing: KeyRing | undefined, catalog: ReturnType<typeof catalogWith>) {
  const logged: string[] = []
  const error = (_: object, message: string) => void logged.push(message)
  const secrets = createSigningSecrets({ catalog, keyRing, logger: { error: error as never } })
  const check = createCheckSignature(secrets)
  const visit = (userName: string, userSignature?: string) => check(projectIn(catalog), { userName, userSignature })
  return { visit, ...secrets, logged }
}

const signed = catalogWith(true, encrypt('shared secret'))

describe('userSignature (decisions.md, Beyond the document)', () => {
  const { visit } = gatewayWith(oldRing, signed)

  it.each([
    ['ada', sign('ada', 'shared secret'), 'valid'],
    ['ada', sign('ada', 'shared secret').toUpperCase(), 'valid'],
    ['ä 😀', sign('ä 😀', 'shared secret'), 'valid'],
    ['eve', sign('ada', 'shared secret'), 'invalid'],
    ['ada', sign('ada', 'another secret'), 'invalid'],
    ['ada', '', 'invalid'],
    ['ada', 'zz'.repeat(32), 'invalid'],
    ['ada', undefined, 'invalid'],
  ])('of %s given as %s is %s', (userName, userSignature, expected) => {
    expect(visit(userName, userSignature)).toBe(expected)
  })

  it('may be made with each of the secrets during a rotation, so that no step refuses a page', () => {
    const steps = ['old secret', 'new secret,old secret', 'new secret']
    const [before, during, after] = steps.map((secret) => gatewayWith(oldRing, catalogWith(true, encrypt(secret))))
    const [byOld, byNew] = [sign('ada', 'old secret'), sign('ada', 'new secret')]
    expect([before?.visit('ada', byOld), during?.visit('ada', byOld)]).toEqual(['valid', 'valid'])
    expect([during?.visit('ada', byNew), after?.visit('ada', byNew)]).toEqual(['valid', 'valid'])
    expect(after?.visit('ada', byOld)).toBe('invalid')
    expect(during?.visit('ada', sign('ada', 'new secret,old secret'))).toBe('invalid')
  })

  it('made with no secret is invalid, also beside a comma', () => {
    expect(gatewayWith(oldRing, catalogWith(true, encrypt('secret,'))).visit('ada', sign('ada', ''))).toBe('invalid')
  })

  it('is not checked if the project does not require it', () => {
    expect(gatewayWith(undefined, catalogWith(false)).visit('ada', 'wrong')).toBe('valid')
  })

  it('is invalid if the project has no secret', () => {
    expect(gatewayWith(oldRing, catalogWith(true)).visit('ada', sign('ada', 'shared secret'))).toBe('invalid')
  })

  it('is checked with any key of the ring', () => {
    for (const keyRing of [givenKeyRing(NEW, OLD), givenKeyRing(OLD, NEW)])
      expect(gatewayWith(keyRing, signed).visit('ada', sign('ada', 'shared secret'))).toBe('valid')
  })
})

describe('a signing secret that a gateway cannot decrypt', () => {
  it.each([
    ['without NEXTVISIT_SECRET_KEY', undefined],
    ['without the key', givenKeyRing(NEW)],
  ])('makes signatures unverifiable %s, and names the key once', (_, keyRing) => {
    const { visit, undecryptable, logged } = gatewayWith(keyRing, signed)
    for (const name of ['ada', 'bob']) expect(visit(name, sign(name, 'shared secret'))).toBe('unverifiable')
    expect(visit('ada', 'malformed')).toBe('invalid')
    expect(undecryptable()).toEqual([{ keyId: oldId, projects: ['acme/shop'] }])
    expect(logged).toEqual([
      `NEXTVISIT_SECRET_KEY lacks key ${oldId}, which encrypts the signing secret of acme/shop: see docs/runbooks/rotate-secrets.md`,
    ])
  })

  it.each([
    ['damaged', `${encrypt('shared secret').slice(0, -4)}AAAA`],
    ['encrypted for another project', encrypt('shared secret', oldRing, 'blog')],
    ['without the name of a key', 'c2VjcmV0'],
  ])('is damaged if it is %s', (_, encrypted) => {
    const { visit, undecryptable } = gatewayWith(oldRing, catalogWith(true, encrypted))
    expect(visit('ada', sign('ada', 'shared secret'))).toBe('unverifiable')
    expect(undecryptable().map(describeUndecryptable)).toEqual([
      'The signing secret of acme/shop is damaged: apply the workspace file again',
    ])
  })

  it('is listed with all others of the same key, which is logged once', () => {
    const projects = ['shop', 'blog'].map((id) => ({
      id,
      requireUserSignature: true,
      signingSecret: encrypt('shared secret', oldRing, id),
    }))
    const { undecryptable, logged } = gatewayWith(
      undefined,
      staticCatalog([organizationConfig({ id: 'acme', projects })]),
    )
    expect(undecryptable()).toEqual([{ keyId: oldId, projects: ['acme/shop', 'acme/blog'] }])
    expect(undecryptable().map(describeUndecryptable)).toEqual([expect.stringContaining('of acme/shop and 1 more:')])
    expect(logged).toHaveLength(1)
  })

  it('is no problem if the project requires no signature', () => {
    const { undecryptable, logged } = gatewayWith(undefined, catalogWith(false, encrypt('shared secret')))
    expect(undecryptable()).toEqual([])
    expect(logged).toEqual([])
  })
})
