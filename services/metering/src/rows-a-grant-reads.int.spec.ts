import { sql } from '@nextvisit/database'
import { countRowsRead } from '@nextvisit/testing'
import { expect, it } from 'vitest'
import { event, givenLedger, mau, newPlace, NOW, type Place } from '../test/given-ledger.ts'
import { reserve } from './ledger.ts'

const PARTITIONS = 64
const ORGANIZATIONS = 100
const ROWS = 5_000

const ledger = givenLedger()

/** Postgres has no statistics of these tables, and autovacuum gathers none meanwhile. */
async function givenManyRows({ organization, project }: Place): Promise<void> {
  for (const table of ['counters', 'reservations', 'mau_members']) {
    await ledger.prisma.$executeRawUnsafe(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`)
  }
  await ledger.prisma.$executeRaw(sql`
    INSERT INTO counters (organization, project, kind, month, partition, count)
    SELECT organization, '', 'event', '2026-11', partition, 1
    FROM (SELECT 'other-' || nth FROM generate_series(2, ${ORGANIZATIONS}::int) AS nth UNION SELECT ${organization})
      AS known (organization), generate_series(1, ${PARTITIONS}::int) AS partition`)
  await ledger.prisma.$executeRaw(sql`
    INSERT INTO mau_members (organization, project, month, user_id)
    SELECT ${organization}, ${project}, '2026-11', gen_random_uuid() FROM generate_series(1, ${ROWS}::int)`)
  const asked = Array.from({ length: ROWS }, () => event({ organization, project }, 2 * ROWS))
  for (let at = 0; at < ROWS; at += 500) await reserve(ledger.prisma, asked.slice(at, at + 500), NOW)
}

it('reads the counts of its own partitions, and of reservations and users only those it asks for', async () => {
  const place = newPlace()
  await givenManyRows(place)
  const prisma = ledger.connectOnce()
  const read = await countRowsRead(prisma, ['counters', 'reservations', 'mau_members'], async () => {
    const asked = [event(place, 2 * ROWS), event(place, 2 * ROWS), mau(place, 9, 'ada')]
    expect(await reserve(prisma, asked, NOW)).toEqual(['granted', 'granted', 'granted'])
  })
  expect(read).toBeLessThan(3 * PARTITIONS)
})
