import { createAdapter } from '@nextvisit/database'
import { runReplay } from '@nextvisit/projection/replay'
import { PrismaClient } from '../generated/prisma/client.ts'
import packageJson from '../package.json' with { type: 'json' }
import { createFormTriggerProjection } from './form-trigger-projection.ts'
import { createQueueProjection } from './queue-projection.ts'
import { tableRoles } from './table-roles.ts'

await runReplay({
  service: 'form-trigger-evaluator',
  serviceVersion: packageJson.version,
  projection: createFormTriggerProjection({ publishReplies: () => Promise.resolve() }),
  published: createQueueProjection,
  roles: tableRoles,
  openDb: (options) => new PrismaClient({ adapter: createAdapter(options) }),
})
