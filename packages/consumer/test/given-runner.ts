import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import type { UserFact } from '@nextvisit/contracts'
import type { CommitDb } from '@nextvisit/database'
import { createLogAdmin, type LogConnection } from '@nextvisit/log'
import { createLogger } from '@nextvisit/service-kit'
import { onTestFinished, vi } from 'vitest'
import { createPartitionCounts } from '../src/assign/partition-counts.ts'
import type { AnyFact, Projection } from '../src/core/projection.ts'
import { readFoldedKeyPartitions } from '../src/fold/checkpoint.ts'
import { createProjectionRunner, type ProjectionRunnerParts } from '../src/process/projection-runner.ts'
import type { GivenLog } from './given-log.ts'
import { createVisitsProjection, type VisitsDraft } from './visits-projection.ts'

type RunnerParts<Fact extends AnyFact, Draft> = Partial<ProjectionRunnerParts<Fact, Draft>>

/** Starts a runner, in a consumer group of its topic's name, until it is stopped. */
export async function startRunner<Fact extends AnyFact, Draft>(
  projection: Projection<Fact, Draft>,
  connection: LogConnection,
  db: CommitDb,
  own: RunnerParts<Fact, Draft> = {},
) {
  const logAdmin = createLogAdmin(connection)
  const onFailure = vi.fn<(error: Error) => void>()
  const runner = createProjectionRunner({
    projection,
    foldDb: db,
    upkeepDb: db,
    connection,
    logAdmin,
    partitionCounts: createPartitionCounts(logAdmin, connection.partitions, () =>
      readFoldedKeyPartitions(db, projection.name),
    ),
    catalog: staticCatalog([]),
    logger: createLogger('spec', 'silent'),
    now: () => new Date(),
    serviceVersion: 'test',
    onFailure,
    tickEveryMs: 50,
    groupId: `${projection.name}.${projection.topic}`,
    groupReader: { sessionTimeoutMs: 6_000, heartbeatIntervalMs: 200, maxWaitMs: 50 },
    ...own,
  })
  const stop = async (): Promise<void> => {
    await runner.stop()
    await logAdmin.disconnect()
  }
  await logAdmin.connect()
  await runner.start()
  return { runner: { ...runner, stop }, onFailure }
}

/** Starts a runner, until the test ends. */
export async function givenProjectionRunner<Fact extends AnyFact, Draft>(
  ...parts: Parameters<typeof startRunner<Fact, Draft>>
) {
  const started = await startRunner(...parts)
  onTestFinished(started.runner.stop)
  return started
}

/** Starts a runner of the example projection, until the test ends. */
export function givenRunner(
  { topic, connection }: GivenLog,
  db: CommitDb,
  own: RunnerParts<UserFact, VisitsDraft> = {},
) {
  return givenProjectionRunner(own.projection ?? createVisitsProjection(topic), connection, db, own)
}
