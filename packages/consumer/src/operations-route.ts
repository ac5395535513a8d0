import { INTERNAL_ROUTES, type OperationsAnswer, type OwnedPartition } from '@nextvisit/contracts'
import type { PartitionProgress, ProjectionRunner } from '@nextvisit/projection'
import { type InternalRoute, internalRoute } from '@nextvisit/service-kit'
import { z } from 'zod'

/** How far this process has folded its partitions. */
export function createOperationsRoute(runner: Pick<ProjectionRunner, 'progress'>): InternalRoute {
  return internalRoute(
    INTERNAL_ROUTES.readOperations,
    z.object({}),
    async (): Promise<OperationsAnswer> => ({ partitions: runner.progress().map(ownedPartition) }),
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
