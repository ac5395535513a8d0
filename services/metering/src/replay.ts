import { createAdapter } from '@nextvisit/database'
import { runReplay } from '@nextvisit/projection/replay'
import { PrismaClient } from '../generated/prisma/client.ts'
import packageJson from '../package.json' with { type: 'json' }
import { meteringProjection } from './metering-projection.ts'
import { tableRoles } from './table-roles.ts'

await runReplay({
  service: 'metering',
  serviceVersion: packageJson.version,
  projection: meteringProjection,
  roles: tableRoles,
  openDb: (options) => new PrismaClient({ adapter: createAdapter(options) }),
})
