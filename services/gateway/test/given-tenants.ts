import { staticCatalog } from '@nextvisit/catalog'
import { OrganizationConfig } from '@nextvisit/contracts'
import { hashApiKey } from '@nextvisit/domain'
import { newKey } from './gateway-fixture.ts'
import { type GatewayFixtureOptions, type GatewayFixture } from './gateway-fixture.ts'
import { givenGateway } from './given-gateway.ts'

/** One gateway and two organizations on it, with a key each. */
export async function givenTenants(services: GatewayFixtureOptions['services']): Promise<{
  readonly gateway: GatewayFixture
  readonly loud: string
  readonly quiet: string
}> {
  const [loud, quiet] = [newKey('admin', 'P'), newKey('admin', 'P')]
  const catalog = staticCatalog([organizationWith('loud', loud), organizationWith('quiet', quiet)])
  return { gateway: await givenGateway({ catalog, ...(services && { services }) }), loud, quiet }
}

function organizationWith(id: string, key: string): OrganizationConfig {
  const rateLimit = { perSecond: 10_000, burst: 10_000 }
  return OrganizationConfig.parse({
    id,
    projects: [
      {
        id: 'shop',
        rateLimits: { admin: rateLimit, sdk: rateLimit },
        keys: [{ name: 'backend', kind: 'admin', environment: 'P', sha256: hashApiKey(key) }],
      },
    ],
  })
}
