import { randomUUID } from 'node:crypto'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type CommitDb, sql } from '@nextvisit/database'
import { countRowsRead } from '@nextvisit/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { event, givenLedger, mau, newPlace, NOW, type Place, statementsFor } from '../test/given-ledger.ts'
import { leaseRoom, returnLeased } from './leases.ts'
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

const place = newPlace()
beforeAll(() => givenManyRows(place), 60_000)

const rowsReadBy = (work: (db: CommitDb) => Promise<unknown>) => {
  const db = ledger.connectOnce()
  return countRowsRead(db, ['counters', 'reservations', 'mau_members'], () => work(db))
}

it('a grant reads the counts of its own counters, and only the reservations and users that it asks for', async () => {
  const read = await rowsReadBy(async (prisma) => {
    const asked = [event(place, 2 * ROWS), event(place, 2 * ROWS), mau(place, 9, 'ada')]
    expect(await reserve(prisma, asked, NOW)).toEqual(['granted', 'granted', 'granted'])
  })
  expect(read).toBeLessThan(3 * PARTITIONS)
})

describe('a lease (decision 0017)', () => {
  const { organization } = place
  const ofMonth = { organization, month: '2026-11' }
  const leases = Array.from({ length: 12 }, (_, partition) => ({ lease: randomUUID(), partition, units: 3 }))

  it('reads the counts of its own counter', async () => {
    const read = await rowsReadBy(async (prisma) =>
      expect(await leaseRoom(prisma, [{ ...ofMonth, limit: 2 * ROWS, leases }], NOW)).toEqual([true]),
    )
    expect(read).toBeLessThan(2 * PARTITIONS)
  })

  it('is folded by key', async () => {
    const facts = leases.flatMap(({ lease }) => [eventTracked({ ...place, lease }), eventTracked({ ...place, lease })])
    const read = await rowsReadBy((db) => db.executeAll(statementsFor(facts)))
    expect(read).toBeLessThan(6 * leases.length)
  })

  it('is given back by key', async () => {
    const returned = leases.map(({ lease }) => ({ ...ofMonth, lease, units: 1 }))
    const read = await rowsReadBy((prisma) => returnLeased(prisma, returned))
    expect(read).toBeLessThan(6 * leases.length)
    const unit = { in: leases.map(({ lease }) => lease) }
    expect(await ledger.prisma.reservation.count({ where: { organization, unit } })).toBe(0)
  })
})
