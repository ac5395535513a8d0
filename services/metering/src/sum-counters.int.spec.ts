import { sql } from '@nextvisit/database'
import { countRowsRead } from '@nextvisit/testing'
import { expect, it } from 'vitest'
import { event, givenLedger, newPlace, NOW } from '../test/given-ledger.ts'
import { reserve } from './ledger.ts'

const PARTITIONS = 64
const ORGANIZATIONS = 100

const ledger = givenLedger()

it('sums up a counter by reading its own partitions, however many counters there are', async () => {
  const place = newPlace()
  await ledger.prisma.$executeRaw(sql`
    INSERT INTO counters (organization, project, kind, month, partition, count)
    SELECT organization, '', 'event', '2026-11', partition, 1
    FROM (SELECT 'other-' || nth FROM generate_series(2, ${ORGANIZATIONS}::int) AS nth UNION SELECT ${place.organization})
      AS known (organization), generate_series(1, ${PARTITIONS}::int) AS partition`)
  const prisma = ledger.connectOnce()
  const read = await countRowsRead(prisma, ['counters'], async () => {
    expect(await reserve(prisma, [event(place, PARTITIONS + 1)], NOW)).toEqual(['granted'])
  })
  expect(read).toBeLessThan(3 * PARTITIONS)
})
