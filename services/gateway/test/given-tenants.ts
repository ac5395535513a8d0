import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { OrganizationConfig } from '@nextvisit/contracts'
import { hashApiKey } from '@nextvisit/domain'
import { newKey } from './gateway-fixture.ts'
import { type GatewayFixtureOptions, type GatewayFixture } from './gateway-fixture.ts'
import { givenGateway } from './given-gateway.ts'

/** A gateway with two organizations: keys for each project of the loud one, and one key for the quiet one. */
export async function givenTenants(
  services: GatewayFixtureOptions['services'],
  { projects = 1 }: { readonly projects?: number } = {},
): Promise<{
  readonly gateway: GatewayFixture
  readonly loud: readonly string[]
  readonly quiet: string
}> {
  const loud = Array.from({ length: projects }, () => newKey('admin', 'P'))
  const quiet = newKey('admin', 'P')
  const catalog = staticCatalog([organizationWith('loud', loud), organizationWith('quiet', [quiet])])
  return { gateway: await givenGateway({ catalog, ...(services && { services }) }), loud, quiet }
}

function organizationWith(id: string, keys: readonly string[]): OrganizationConfig {
  const rateLimit = { perSecond: 10_000, burst: 10_000 }
  return OrganizationConfig.parse({
    id,
    projects: keys.map((key, index) => ({
      id: `shop-${index}`,
      rateLimits: { admin: rateLimit, sdk: rateLimit },
      keys: [{ name: 'backend', kind: 'admin', environment: 'P', sha256: hashApiKey(key) }],
    })),
  })
}
