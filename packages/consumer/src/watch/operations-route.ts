import { INTERNAL_ROUTES, type OperationsAnswer, type OwnedPartition } from '@nextvisit/contracts'
import { type InternalRoute, internalRoute } from '@nextvisit/service-kit'
import { z } from 'zod'
import type { ProjectionRunner } from '../projection-runner.ts'
import type { PartitionProgress } from './partition-progress.ts'

/** How far this process has folded its partitions. */
export function createOperationsRoute(runner: Pick<ProjectionRunner, 'progress' | 'canSetAside'>): InternalRoute {
  return internalRoute(
    INTERNAL_ROUTES.readOperations,
    z.object({}),
    async (): Promise<OperationsAnswer> => ({
      partitions: runner.progress().map((one) => ownedPartition(one, runner)),
    }),
  )
}

function ownedPartition(
  progress: PartitionProgress,
  { canSetAside }: Pick<ProjectionRunner, 'canSetAside'>,
): OwnedPartition {
  const { topic, partition, nextOffset, lagRecords, lagSeconds, alarms } = progress
  return {
    topic,
    partition,
    nextOffset: String(nextOffset),
    lagRecords: Number(lagRecords),
    lagSeconds,
    alarms: alarms.map((alarm) => ({
      kind: alarm.kind,
      offset: String(alarm.offset),
      recordId: alarm.recordId ?? null,
      canSetAside: canSetAside(progress, alarm),
      code: alarm.code,
      message: alarm.message,
      since: new Date(alarm.sinceMs).toISOString(),
    })),
  }
}
