import { createAdapter } from '@nextvisit/database'
import { runReplay } from '@nextvisit/projection/replay'
import { PrismaClient } from '../generated/prisma/client.ts'
import packageJson from '../package.json' with { type: 'json' }
import { createRegistryProjection } from './registry-projection.ts'
import { tableRoles } from './table-roles.ts'

await runReplay({
  service: 'trait-registry',
  serviceVersion: packageJson.version,
  projection: createRegistryProjection({ countPartitions: () => Promise.resolve(0) }),
  roles: tableRoles,
  openDb: (options) => new PrismaClient({ adapter: createAdapter(options) }),
})
