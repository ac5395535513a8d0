import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import type { UserFact } from '@nextvisit/contracts'
import type { CommitDb } from '@nextvisit/database'
import { createLogger } from '@nextvisit/service-kit'
import { onTestFinished, vi } from 'vitest'
import { createProjectionRunner, type ProjectionRunnerOptions } from '../src/process/projection-runner.ts'
import type { GivenLog } from './given-log.ts'
import { createVisitsProjection, type VisitsDraft } from './visits-projection.ts'

type RunnerOptions = Partial<ProjectionRunnerOptions<UserFact, VisitsDraft>>

/** Starts a runner of the example projection, until the test ends. */
export async function givenRunner({ topic, connection }: GivenLog, db: CommitDb, own: RunnerOptions = {}) {
  const onFailure = vi.fn<(error: Error) => void>()
  const runner = createProjectionRunner({
    projection: createVisitsProjection(topic),
    foldDb: db,
    upkeepDb: db,
    connection,
    catalog: staticCatalog([]),
    logger: createLogger('spec', 'silent'),
    now: () => new Date(),
    serviceVersion: 'test',
    onFailure,
    tickEveryMs: 50,
    groupId: `visits.${topic}`,
    groupReader: { sessionTimeoutMs: 6_000, heartbeatIntervalMs: 200, maxWaitMs: 50 },
    ...own,
  })
  await runner.start()
  onTestFinished(runner.stop)
  return { runner, onFailure }
}
