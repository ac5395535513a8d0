import type { Db } from '@nextvisit/database'
import { describe, expect, it } from 'vitest'
import { consumerHealth } from './consumer-health.ts'

const place = { topic: 'user-events', partition: 3, nextOffset: 7n, lagRecords: 1n, lagSeconds: 1 }

function givenHealth({ stalledMs = 0, isCatalogCurrent = true }) {
  return consumerHealth({
    runner: { progress: () => [{ ...place, stalledMs }] },
    catalog: { isCurrentWithin: () => isCatalogCurrent },
    db: { $queryRaw: () => Promise.resolve([]) } as unknown as Db,
  })
}

describe('consumerHealth', () => {
  it('is live while its partitions move, and names those that do not', () => {
    expect(givenHealth({ stalledMs: 60_000 }).isLive()).toEqual({ status: 'available' })
    expect(givenHealth({ stalledMs: 120_001 }).isLive()).toMatchObject({
      status: 'unavailable',
      because: expect.stringContaining('user-events/3') as string,
    })
  })

  it('is ready while the catalog is current', async () => {
    expect(await givenHealth({}).isReady()).toEqual({ status: 'available' })
    expect(await givenHealth({ isCatalogCurrent: false }).isReady()).toMatchObject({ status: 'unavailable' })
  })
})
