import { createReadGauges, type WorkParts } from '@nextvisit/consumer'
import { ERASURE_STORES, SEGMENTS_A_KEY_RETENTION } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { Counter } from '@nextvisit/service-kit'
import { readUnfinished } from '../queries.ts'
import type { KeySettings } from './key-settings.ts'

/** Steps of the work, by the label `step`. */
const STEPS = [
  'installation keys',
  'running erasures',
  'user-events',
  'consumers',
  'redis',
  'receipts',
  'user-keys',
  'rotation',
] as const
export type ErasureStep = (typeof STEPS)[number]

interface ErasureMetricsParts extends Pick<WorkParts, 'db' | 'metrics' | 'now'> {
  readonly readKeySettings: () => Promise<KeySettings>
}

/**
 * Registers the metrics of running erasures (metrics.md, User eraser). Each process of the eraser reports the same gauges. Returns a
 * function that counts a failed step.
 */
export function createErasureMetrics({ db, metrics, now, readKeySettings }: ErasureMetricsParts) {
  const { register } = createReadGauges(metrics, () => readProgress(db, now()))
  register(
    { name: 'nextvisit_erasures_running', help: 'Erasures that are not complete, at most 1,000', labelNames: [] },
    (gauge, { unfinished }) => gauge.set(unfinished.length),
  )
  register(
    {
      name: 'nextvisit_erasures_oldest_seconds',
      help: 'Age of the oldest erasure that is not complete; 0 if there is none',
      labelNames: [],
    },
    (gauge, { oldestSeconds }) => gauge.set(oldestSeconds),
  )
  register(
    {
      name: 'nextvisit_erasures_incomplete',
      help: 'Erasures that a store has not finished in time, or cannot finish now',
      labelNames: ['store'],
    },
    (gauge, { unfinished }) => {
      const incomplete = unfinished.flatMap(({ stores }) => stores.filter(({ status }) => status === 'incomplete'))
      for (const store of ERASURE_STORES) gauge.set({ store }, incomplete.filter((one) => one.store === store).length)
    },
  )
  register(
    {
      name: 'nextvisit_erasures_keys_left',
      help: 'Keys of erased users that the topic user-keys still has',
      labelNames: [],
    },
    (gauge, { keysLeft }) => gauge.set(keysLeft),
  )
  createReadGauges(metrics, readKeySettings).register(
    {
      name: 'nextvisit_erasures_key_retention_seconds',
      help: 'ERASURE_KEY_RETENTION of the topic user-keys',
      labelNames: [],
    },
    (gauge, { segmentMs }) => gauge.set((SEGMENTS_A_KEY_RETENTION * segmentMs) / 1_000),
  )
  const failures = new Counter({
    name: 'nextvisit_erasures_failures_total',
    help: 'Failed attempts of a step of the erasures',
    labelNames: ['step'],
    registers: [metrics],
  })
  for (const step of STEPS) failures.inc({ step }, 0)
  return { countFailure: (step: ErasureStep): void => failures.inc({ step }) }
}

async function readProgress(db: Db, now: Date) {
  const [unfinished, [keys]] = await Promise.all([
    readUnfinished(db, now),
    db.$queryRaw<{ left: number }[]>(sql`SELECT count(*)::int AS "left" FROM erased_keys WHERE gone_at IS NULL`),
  ])
  const [oldest] = unfinished
  const oldestSeconds = oldest ? (now.getTime() - Date.parse(oldest.requestedAt)) / 1_000 : 0
  return { unfinished, oldestSeconds, keysLeft: keys?.left ?? 0 }
}
