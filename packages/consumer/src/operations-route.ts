import {
  type DeadLetterGroup,
  INTERNAL_ROUTES,
  type OperationsAnswer,
  OperationsQuery,
  type OwnedPartition,
} from '@nextvisit/contracts'
import type { Query } from '@nextvisit/database'
import {
  type DeadLetterCause,
  type PartitionProgress,
  type ProjectionRunner,
  readDeadLetterCauses,
} from '@nextvisit/projection'
import { type InternalRoute, internalRoute } from '@nextvisit/service-kit'

export interface OperationsRouteParts {
  readonly projection: string
  readonly runner: Pick<ProjectionRunner, 'progress'>
  readonly query: Query
}

const MAX_GROUPS = 200

/** What operators ask every consumer: how far this process has folded its partitions, and the dead letters of the service. */
export function createOperationsRoute({ projection, runner, query }: OperationsRouteParts): InternalRoute {
  return internalRoute(
    INTERNAL_ROUTES.readOperations,
    OperationsQuery,
    async ({ deadLetters }): Promise<OperationsAnswer> => ({
      partitions: runner.progress().map(ownedPartition),
      deadLetters: deadLetters ? await readGroups(query, projection) : [],
    }),
  )
}

function ownedPartition({
  topic,
  partition,
  nextOffset,
  lagRecords,
  lagSeconds,
  alarms,
}: PartitionProgress): OwnedPartition {
  return {
    topic,
    partition,
    nextOffset: String(nextOffset),
    lagRecords: Number(lagRecords),
    lagSeconds,
    alarms: alarms.map(({ kind, offset, recordId = null, code, message, sinceMs }) => ({
      kind,
      offset: String(offset),
      recordId,
      code,
      message,
      since: new Date(sinceMs).toISOString(),
    })),
  }
}

async function readGroups(query: Query, projection: string): Promise<DeadLetterGroup[]> {
  const causes = await readDeadLetterCauses(query, projection, { withSettled: false, limit: MAX_GROUPS })
  return causes.map(groupOf)
}

function groupOf({ cause, causeId, dead, toRetry, oldest, newest, example, lastId }: DeadLetterCause): DeadLetterGroup {
  return {
    cause,
    causeId,
    dead,
    toRetry,
    oldest: oldest.toISOString(),
    newest: newest.toISOString(),
    example,
    lastId,
  }
}
