import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { type KeyKind, OrganizationConfig, type RateLimit } from '@nextvisit/contracts'
import { hashApiKey } from '@nextvisit/domain'
import { newKey } from './gateway-fixture.ts'
import { type GatewayFixtureOptions, type GatewayFixture } from './gateway-fixture.ts'
import { givenGateway } from './given-gateway.ts'

type RateLimits = Readonly<Record<KeyKind, RateLimit>>

const UNLIMITED: RateLimits = {
  admin: { perSecond: 10_000, burst: 10_000 },
  sdk: { perSecond: 10_000, burst: 10_000 },
}

/** A gateway with two organizations: keys for each project of the loud one, and one key for the quiet one. */
export async function givenTenants(
  services: GatewayFixtureOptions['services'],
  { projects = 1, rateLimits = UNLIMITED }: { readonly projects?: number; readonly rateLimits?: RateLimits } = {},
): Promise<{
  readonly gateway: GatewayFixture
  readonly loud: readonly string[]
  readonly quiet: string
}> {
  const loud = Array.from({ length: projects }, () => newKey('admin', 'P'))
  const quiet = newKey('admin', 'P')
  const catalog = staticCatalog([
    organizationWith('loud', loud, rateLimits),
    organizationWith('quiet', [quiet], rateLimits),
  ])
  return { gateway: await givenGateway({ catalog, ...(services && { services }) }), loud, quiet }
}

function organizationWith(id: string, keys: readonly string[], rateLimits: RateLimits): OrganizationConfig {
  return OrganizationConfig.parse({
    id,
    projects: keys.map((key, index) => ({
      id: `shop-${index}`,
      rateLimits,
      keys: [{ name: 'backend', kind: 'admin', environment: 'P', sha256: hashApiKey(key) }],
    })),
  })
}
