import { organizationConfig } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { staticCatalog } from '../test/static-catalog.ts'
import { pageWarning } from './page-warning.ts'

const SHA256 = 'ab'.repeat(32)
const keyOf = (kind: 'admin' | 'sdk', environment: 'P' | 'T') => ({ name: 'web', kind, environment, sha256: SHA256 })
const OPEN = { id: 'shop', keys: [keyOf('sdk', 'P')] }

type Workspace = NonNullable<Parameters<typeof organizationConfig>[0]>

function warningFor(project: NonNullable<Workspace['projects']>[number]) {
  const found = staticCatalog([organizationConfig({ id: 'acme', projects: [project] })]).project('acme', 'shop')
  return found && pageWarning(found)
}

describe('a project is warned about', () => {
  it('if anyone can act as any user with its publishable key for production', () => {
    expect(warningFor(OPEN)).toBe(
      'acme/shop: anyone who reads the publishable key (web) can act as any user and change every trait. ' +
        'Set requireUserSignature, and list the traits that pages may change in sdk.settableTraits.',
    )
    expect(warningFor({ ...OPEN, sdk: { settableTraits: ['theme'] } })).toBe(
      'acme/shop: anyone who reads the publishable key (web) can act as any user. Set requireUserSignature.',
    )
  })

  it.each([
    ['requires a signature', { ...OPEN, requireUserSignature: true }],
    ['has only a test key', { ...OPEN, keys: [keyOf('sdk', 'T')] }],
    ['has only an admin key', { ...OPEN, keys: [keyOf('admin', 'P')] }],
    ['has no key', { id: 'shop' }],
  ])('not if it %s', (_what, project) => {
    expect(warningFor(project)).toBeUndefined()
  })
})
