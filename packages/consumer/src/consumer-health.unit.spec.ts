import type { CatalogProblem } from '@nextvisit/catalog'
import type { Db } from '@nextvisit/database'
import { describe, expect, it } from 'vitest'
import { consumerHealth } from './consumer-health.ts'

const place = { topic: 'user-events', partition: 3, nextOffset: 7n, lagRecords: 1n, lagSeconds: 1 }

function givenHealth({ stalledMs = 0, isCatalogCurrent = true, problems = [] as CatalogProblem[] }) {
  return consumerHealth({
    runner: { progress: () => [{ ...place, stalledMs }] },
    catalog: { isCurrentWithin: () => isCatalogCurrent, problems: () => problems },
    db: { $queryRaw: async () => [] } as unknown as Db,
  })
}

describe('consumerHealth', () => {
  it('is live while its partitions move, and names those that do not', () => {
    expect(givenHealth({ stalledMs: 60_000 }).isLive()).toEqual({ status: 'available' })
    expect(givenHealth({ stalledMs: 120_001 }).isLive()).toEqual({
      status: 'unavailable',
      because: 'nothing was folded of user-events/3 for a while',
    })
  })

  it('is not ready while the catalog is not known to be current', async () => {
    expect(await givenHealth({ isCatalogCurrent: false }).isReady()).toEqual({
      status: 'unavailable',
      because: 'the catalog is not known to be current',
    })
  })

  it('is ready for the others, and names an organization that it does not understand', async () => {
    const problem = { organization: 'acme', revision: 7, usedRevision: 6, reason: 'config.plan: of a later version' }
    expect(await givenHealth({ problems: [problem] }).isReady()).toEqual({
      status: 'available',
      notes: ['revision 7 of acme is not understood; revision 6 is used: config.plan: of a later version'],
    })
  })
})
