import { sql } from '@nextvisit/database'
import { createLogger } from '@nextvisit/service-kit'
import { expect, it, onTestFinished, vi } from 'vitest'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import type { PartitionAlarm, ReportedPartition } from '../partition/partition-progress.ts'
import { createAlarmWatch } from './alarm-watch.ts'

it('the alarm watch warns once if it cannot write alarms, and reports the problem while it lasts', async () => {
  const { db } = await givenVisitsDatabase()
  const alarm: PartitionAlarm = {
    kind: 'halted',
    offset: 2n,
    recordId: 'r',
    code: 'FOLD_FAILED',
    message: 'a bug',
    sinceMs: 0,
  }
  const caughtUp = { lagRecords: 0n, lagSeconds: 0, stalledMs: 0, hangsMs: 0, ticksFailMs: 0 }
  const place = { topic: 'user-events', partition: 0 }
  const halted: ReportedPartition = {
    ...place,
    progress: () => ({ ...place, ...caughtUp, nextOffset: 2n, alarms: [alarm] }),
    setAside: () => {},
  }
  const logger = createLogger('spec', 'silent')
  const warn = vi.spyOn(logger, 'warn')
  await db.$executeRaw(sql`ALTER TABLE partition_alarms RENAME TO elsewhere`)
  const watch = createAlarmWatch({ db, projection: 'visits', reported: () => [halted], logger, everyMs: 10 })
  watch.start()
  onTestFinished(async () => {
    watch.stop()
    await watch.finished()
  })
  await vi.waitFor(() => expect(watch.problem()).toContain('alarms cannot be written'), { timeout: 30_000 })
  await db.$executeRaw(sql`ALTER TABLE elsewhere RENAME TO partition_alarms`)
  await vi.waitFor(() => expect(watch.problem()).toBeUndefined(), { timeout: 30_000 })
  expect(warn).toHaveBeenCalledTimes(1)
})
