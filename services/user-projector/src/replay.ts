import { createAdapter } from '@nextvisit/database'
import { runReplay } from '@nextvisit/projection/replay'
import { PrismaClient } from '../generated/prisma/client.ts'
import packageJson from '../package.json' with { type: 'json' }
import { createUserProjection } from './user-projection.ts'
import { segmentsSettledUntil, tableRoles } from './table-roles.ts'

await runReplay({
  service: 'user-projector',
  serviceVersion: packageJson.version,
  projection: createUserProjection(),
  roles: tableRoles,
  settledUntil: segmentsSettledUntil,
  openDb: (options) => new PrismaClient({ adapter: createAdapter(options) }),
})
