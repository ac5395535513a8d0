import { type DeadLetterGroup, INTERNAL_ROUTES, type OperationsAnswer, type OwnedPartition } from '@nextvisit/contracts'
import type { Query } from '@nextvisit/database'
import {
  type DeadLetterCause,
  type PartitionProgress,
  type ProjectionRunner,
  readDeadLetterCauses,
} from '@nextvisit/projection'
import { type InternalRoute, internalRoute } from '@nextvisit/service-kit'
import { z } from 'zod'

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
    z.object({}),
    async (): Promise<OperationsAnswer> => ({
      partitions: runner.progress().map(ownedPartition),
      deadLetters: (await readDeadLetterCauses(query, projection, { withSettled: false, limit: MAX_GROUPS })).map(
        groupOf,
      ),
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

function groupOf({ cause, causeId, dead, toRetry, oldest, newest, example }: DeadLetterCause): DeadLetterGroup {
  return { cause, causeId, dead, toRetry, oldest: oldest.toISOString(), newest: newest.toISOString(), example }
}
