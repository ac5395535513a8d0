import type { operationsCalls, PartitionStatus } from '@nextvisit/contracts'
import type { Handlers } from '@nextvisit/service-kit'
import type { ProjectionRunner } from './projection-runner.ts'
import type { PartitionProgress } from '../partition/partition-progress.ts'

/** Answers calls about the partitions of this process. */
export function answerOperations(
  runner: Pick<ProjectionRunner, 'progress' | 'canSetAside'>,
): Handlers<typeof operationsCalls> {
  return { readOperations: async () => ({ partitions: runner.progress().map((one) => statusOf(one, runner)) }) }
}

function statusOf(
  progress: PartitionProgress,
  { canSetAside }: Pick<ProjectionRunner, 'canSetAside'>,
): PartitionStatus {
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
