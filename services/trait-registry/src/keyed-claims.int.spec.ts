import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { createPartitionFold } from '@nextvisit/consumer'
import type { Claim, EventTracked } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { batchOf, factsAsRecords } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { givenRegistry } from '../test/given-registry.ts'
import { claimNames } from './claims.ts'
import { createProjection } from './projection.ts'

const RECEIVED = new Date('2026-11-02T10:00:00.000Z')
const DAY_MS = 24 * 3_600_000

const registry = givenRegistry()

async function fold(facts: readonly EventTracked[]): Promise<void> {
  const projection = createProjection({ countKeyPartitions: () => Promise.resolve(1) })
  const place = { topic: 'user-events', partition: 0, catalog: staticCatalog([]), serviceVersion: 'test' }
  const partition = createPartitionFold({ projection, db: registry.db, ...place })
  const { nextOffset } = await partition.open()
  const records = factsAsRecords(facts).map((record) => ({ ...record, offset: record.offset + nextOffset }))
  const end = nextOffset + BigInt(facts.length)
  await partition.fold({ ...batchOf(records), fetchedFrom: nextOffset, nextOffset: end })
}

function claimOf({ id: recordId, organization, project, slug }: EventTracked): Claim {
  return { kind: 'event', organization, project, recordId, partition: 0, slugs: [slug], limit: 9, disabled: [] }
}

describe('the claim of a keyed record’s duplicate (decisions.md, Retries)', () => {
  it('gets the verdict of its first claim, folded or not, for 24 h', async () => {
    const told = eventTracked({ keyed: true, newEvent: true })
    // Received earlier, but answered second: it is the earliest record, and not the one with the answer `new`.
    const rider = eventTracked({ keyed: true, received: new Date(RECEIVED.getTime() - 1).toISOString() })
    const ask = (afterMs: number) =>
      claimNames(registry.prisma, [told, rider].map(claimOf), new Date(RECEIVED.getTime() + afterMs))
    expect(await ask(0)).toEqual([['new'], ['claimed']])
    await fold([rider, told])
    expect(await ask(DAY_MS - 1)).toEqual([['new'], ['registered']])
    expect(await ask(DAY_MS)).toEqual([['registered'], ['registered']])
  })

  it('is an ordinary claim if the record has no key', async () => {
    const told = eventTracked({ eventName: 'Signed In', newEvent: true })
    expect(await claimNames(registry.prisma, [claimOf(told)], RECEIVED)).toEqual([['new']])
    await fold([told])
    expect(await claimNames(registry.prisma, [claimOf(told)], RECEIVED)).toEqual([['registered']])
  })
})
