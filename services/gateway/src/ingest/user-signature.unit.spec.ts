import { createHmac } from 'node:crypto'
import { encryptSigningSecret } from '@nextvisit/catalog'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { createCheckSignature } from './user-signature.ts'

const SECRET_KEY = 'ab'.repeat(32)

function projectWith(requireUserSignature: boolean, secret?: string) {
  const signingSecret = secret && encryptSigningSecret(secret, SECRET_KEY, { organization: 'acme', project: 'shop' })
  const config = organizationConfig({
    id: 'acme',
    projects: [{ id: 'shop', requireUserSignature, ...(signingSecret && { signingSecret }) }],
  })
  const project = staticCatalog([config]).project('acme', 'shop')
  if (!project) throw new Error('there must be a project')
  return project
}

const sign = (userName: string, secret: string) => createHmac('sha256', secret).update(userName).digest('hex')

describe('userSignature (decisions.md, Beyond the document)', () => {
  const check = createCheckSignature(SECRET_KEY)
  const project = projectWith(true, 'shared secret')

  it.each([
    ['ada', sign('ada', 'shared secret'), true],
    ['ada', sign('ada', 'shared secret').toUpperCase(), true],
    ['ä 😀', sign('ä 😀', 'shared secret'), true],
    ['eve', sign('ada', 'shared secret'), false],
    ['ada', sign('ada', 'another secret'), false],
    ['ada', '', false],
    ['ada', 'zz'.repeat(32), false],
    ['ada', undefined, false],
  ])('of %s given as %s is right: %s', (userName, userSignature, isRight) => {
    expect(check(project, { userName, userSignature })).toBe(isRight)
  })

  it('is not checked if the project does not require it', () => {
    expect(check(projectWith(false), { userName: 'ada', userSignature: 'wrong' })).toBe(true)
  })

  it('is never right without a secret, or without the key that decrypts it', () => {
    const given = { userName: 'ada', userSignature: sign('ada', 'shared secret') }
    expect(check(projectWith(true), given)).toBe(false)
    expect(createCheckSignature(undefined)(project, given)).toBe(false)
    expect(createCheckSignature('cd'.repeat(32))(project, given)).toBe(false)
  })
})
