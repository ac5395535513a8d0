import { randomUUID } from 'node:crypto'
import { sql } from '@nextvisit/database'
import { countRowsRead } from '@nextvisit/testing'
import { beforeAll, expect, it } from 'vitest'
import { givenRegistry } from '../test/given-registry.ts'
import { claimNames, releaseClaims } from './claims.ts'

const NOW = new Date('2026-11-02T10:00:00.000Z')
const TABLES = ['definitions', 'claims', 'idempotent_records']
const MANY = 5_000
/** From the sixth run on, Postgres might keep a statement's plan until it has new statistics. */
const RUNS = 10

const registry = givenRegistry({ maxConnections: 1 })
beforeAll(async () => {
  for (const table of TABLES)
    await registry.prisma.$executeRawUnsafe(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`)
})

async function givenNames(organization: string, names: number): Promise<void> {
  const nth = sql`generate_series(1, ${names}::int) AS nth`
  await registry.prisma.$executeRaw(sql`
    INSERT INTO definitions (organization, project, kind, slug, name, first_seen_at, first_record_id)
    SELECT ${organization}, 'shop', 'event', 'known_' || nth, 'Known', now(), gen_random_uuid() FROM ${nth}`)
  await registry.prisma.$executeRaw(sql`
    INSERT INTO claims (organization, project, kind, slug, record_id, partition, asked_at, holders, may_have_landed)
    SELECT ${organization}, 'shop', 'event', 'claimed_' || nth, gen_random_uuid(), 0, now(), '{}', false FROM ${nth}`)
  await registry.prisma.$executeRaw(sql`
    INSERT INTO idempotent_records (record_id, partition, received) SELECT gen_random_uuid(), 0, now() FROM ${nth}`)
}

function claim(recordId: string, slug: string) {
  const shop = { organization: 'acme', project: 'shop', kind: 'event' as const }
  return { ...shop, recordId, partition: 0, slugs: ['known_1', slug], disabled: ['known_2'], limit: 1_000 }
}

/** Names are claimed and given back. */
async function runAll(): Promise<void> {
  for (let nth = 0; nth < RUNS; nth += 1) {
    const [first, second] = [claim(randomUUID(), `new_${nth}`), claim(randomUUID(), `new_${nth}`)]
    expect(await claimNames(registry.prisma, [first, second], NOW)).toEqual([
      ['registered', 'new'],
      ['registered', 'claimed'],
    ])
    await releaseClaims(registry.prisma, [first])
    await releaseClaims(registry.prisma, [second])
  }
}

/**
 * A database that fills quickly: its statistics are of a handful of names. By a plan that was kept from then, a claim compared
 * each pair of names, which took longer than a statement may.
 */
it('a claim reads only names of its project, also with a plan from when there were few names', async () => {
  await givenNames('acme', 3)
  await registry.prisma.$executeRaw(sql`ANALYZE`)
  await runAll()
  await givenNames('other', MANY)
  // Released claims are read, too, until no transaction can see them. Whole tables have 50 times as many rows.
  expect(await countRowsRead(registry.prisma, TABLES, runAll)).toBeLessThan(100 * RUNS)
})
