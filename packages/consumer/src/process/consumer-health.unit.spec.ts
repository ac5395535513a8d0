import type { CatalogProblem } from '@nextvisit/catalog'
import type { Db } from '@nextvisit/database'
import { describe, expect, it } from 'vitest'
import { consumerHealth } from './consumer-health.ts'
import type { PartitionAlarm } from '../partition/partition-progress.ts'

const place = { topic: 'user-events', partition: 3, nextOffset: 7n, lagRecords: 1n, lagSeconds: 1, ticksFailMs: 0 }
const halted = {
  kind: 'halted',
  offset: 7n,
  recordId: 'r',
  code: 'FOLD_FAILED',
  message: 'TypeError: x',
  sinceMs: 0,
} as const

function givenHealth({
  hangsMs = 0,
  alarms = [] as readonly PartitionAlarm[],
  alarmProblem = undefined as string | undefined,
  isCatalogCurrent = true,
  problems = [] as readonly CatalogProblem[],
}) {
  return consumerHealth({
    runner: { alarmProblem: () => alarmProblem, progress: () => [{ ...place, stalledMs: 600_000, hangsMs, alarms }] },
    catalog: { isCurrentWithin: () => isCatalogCurrent, problems: () => problems },
    db: { $queryRaw: async () => [] } as unknown as Db,
  })
}

describe('a consumer', () => {
  it('is live while its partitions move, and names the partitions that hang if not', () => {
    expect(givenHealth({ hangsMs: 60_000 }).isLive()).toEqual({ status: 'available' })
    expect(givenHealth({ hangsMs: 120_001 }).isLive()).toEqual({
      status: 'unavailable',
      because: 'no record of user-events/3 was folded for two minutes',
    })
  })

  it('stays live, and names a halted partition, which no new process would help', () => {
    expect(givenHealth({ alarms: [halted] }).isLive()).toEqual({
      status: 'available',
      alarms: ['user-events/3 halted at offset 7: FOLD_FAILED TypeError: x'],
    })
  })

  it('reports that alarms cannot be written', () => {
    const alarmProblem = 'alarms cannot be written: permission denied'
    expect(givenHealth({ alarms: [halted], alarmProblem }).isLive()).toEqual({
      status: 'available',
      alarms: ['user-events/3 halted at offset 7: FOLD_FAILED TypeError: x', alarmProblem],
    })
  })

  it('is not ready while the catalog is not known to be current', async () => {
    expect(await givenHealth({ isCatalogCurrent: false }).isReady()).toEqual({
      status: 'unavailable',
      because: 'the catalog is not known to be current',
    })
  })

  it('is ready although it does not understand one organization, and names it', async () => {
    const problem = { organization: 'acme', revision: 7, usedRevision: 6, reason: 'config.plan: of a later version' }
    expect(await givenHealth({ problems: [problem] }).isReady()).toEqual({
      status: 'available',
      alarms: ['revision 7 of acme is not understood; revision 6 is used: config.plan: of a later version'],
    })
  })
})
