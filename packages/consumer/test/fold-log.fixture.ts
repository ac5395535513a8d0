import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { openTestDb } from '@nextvisit/database/testing'
import { createLogAdmin } from '@nextvisit/log'
import { createLogger } from '@nextvisit/service-kit'
import { createPartitionCounts } from '../src/assign/partition-counts.ts'
import { createProjectionRunner } from '../src/process/projection-runner.ts'
import { createVisitsProjection } from './visits-projection.ts'

/** Folds a topic with the example's projection, in a process of its own, until it is killed. Prints its largest size in KB. */
const [broker = '', topic = '', databaseUrl = ''] = process.argv.slice(2)
const connection = { brokers: [broker], clientId: 'fixture' }
const db = openTestDb(databaseUrl, 'visits')
const logAdmin = createLogAdmin(connection)
const runner = createProjectionRunner({
  projection: createVisitsProjection(topic),
  foldDb: db,
  upkeepDb: db,
  connection,
  logAdmin,
  partitionCounts: createPartitionCounts(logAdmin, undefined, () => Promise.resolve([])),
  catalog: staticCatalog([]),
  logger: createLogger('fixture', 'silent'),
  now: () => new Date(),
  serviceVersion: 'test',
  onFailure: (error) => {
    throw error
  },
  tickEveryMs: 50,
  groupId: `visits.${topic}`,
  groupReader: { sessionTimeoutMs: 6_000, heartbeatIntervalMs: 200, maxWaitMs: 50 },
})
await logAdmin.connect()
await runner.start()
setInterval(() => process.stdout.write(`${process.resourceUsage().maxRSS}\n`), 100)
