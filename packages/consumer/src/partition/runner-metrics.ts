import { createHistogram, hasExemplars } from '@nextvisit/service-kit'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { PartitionProgress } from './partition-progress.ts'

interface PartitionGauge {
  readonly name: string
  readonly help: string
  readonly read: (progress: PartitionProgress) => number
}

/** Registers a projection's metrics. Labels name the partition, never a user. `types`: of its records. */
export function createRunnerMetrics(
  registry: Registry,
  progress: () => readonly PartitionProgress[],
  types: readonly string[] = [],
) {
  const registers = [registry]
  const records = new Counter({
    name: 'projection_records_total',
    help: 'Records that were folded, by type, including duplicates and records of erased users',
    labelNames: ['type'],
    registers,
  })
  for (const type of types) records.inc({ type }, 0)
  /** Computes the gauge at each scrape, so that it grows while nothing moves. */
  const gaugeOf = ({ name, help, read }: PartitionGauge) =>
    new Gauge({
      name,
      help,
      labelNames: ['partition'],
      registers,
      collect() {
        this.reset()
        for (const one of progress()) this.set({ partition: one.partition }, read(one))
      },
    })
  return {
    /** Latencies have exemplars. */
    isTraced: hasExemplars(registry),
    records,
    lagRecords: gaugeOf({
      name: 'projection_lag_records',
      help: 'Records between the checkpoint and the end of the log',
      read: ({ lagRecords }) => Number(lagRecords),
    }),
    lagSeconds: gaugeOf({
      name: 'projection_lag_seconds',
      help: 'Age of the last record folded, while there are more; 0 at the end of the log',
      read: ({ lagSeconds }) => lagSeconds,
    }),
    halted: gaugeOf({
      name: 'projection_halted',
      help: '1: this partition is halted until an operator acts',
      read: ({ alarms }) => (alarms.some(({ kind }) => kind === 'halted') ? 1 : 0),
    }),
    stalledSeconds: gaugeOf({
      name: 'projection_stalled_seconds',
      help: 'Time for which records have waited while every attempt to fold them failed',
      read: ({ stalledMs }) => stalledMs / 1_000,
    }),
    ticksFailingSeconds: gaugeOf({
      name: 'projection_ticks_failing_seconds',
      help: 'How long ticks have failed; 0 when the last one succeeded',
      read: ({ ticksFailMs }) => ticksFailMs / 1_000,
    }),
    batchRecords: new Histogram({
      name: 'projection_batch_records',
      help: 'Records folded in one commit',
      buckets: [1, 3, 10, 30, 100, 300, 1_000],
      registers,
    }),
    foldSeconds: createHistogram(registry, {
      name: 'projection_fold_seconds',
      help: 'Time from receiving a batch to its commit',
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    }),
    deadLetters: new Counter({
      name: 'projection_dead_letters_total',
      help: 'Records that became dead letters',
      registers,
    }),
    duplicates: new Counter({
      name: 'projection_copies_total',
      help: 'Duplicates of idempotent records that were dropped',
      registers,
    }),
    erased: new Counter({
      name: 'projection_erased_records_total',
      help: 'Records of erased users that were folded without effect',
      registers,
    }),
    staleCommits: new Counter({
      name: 'projection_stale_commits_total',
      help: 'Commits refused by the fence because another owner was faster',
      registers,
    }),
    retries: new Counter({
      name: 'projection_retries_total',
      help: 'Folds of a batch and reads of a checkpoint that are retried: Postgres is unavailable or busy, or the catalog is missing',
      registers,
    }),
  }
}

export type RunnerMetrics = ReturnType<typeof createRunnerMetrics>
