import { MAX_DISABLED_TRAIT_BYTES } from '@nextvisit/contracts'
import { sql } from '@nextvisit/database'
import { countRowsRead } from '@nextvisit/testing'
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { givenRegistry } from '../test/given-registry.ts'
import { claimNames } from './claims.ts'

const NOW = new Date('2026-11-02T10:00:00.000Z')
const DEFINITIONS = 4_500
const CLAIMS = 500

const registry = givenRegistry({ maxConnections: 1 })

/** A project that has just grown: Postgres has no statistics of these tables, and autovacuum gathers none meanwhile. */
async function givenNamesWithoutStatistics(): Promise<void> {
  await registry.prisma.$executeRaw(sql`ALTER TABLE definitions SET (autovacuum_enabled = false)`)
  await registry.prisma.$executeRaw(sql`ALTER TABLE claims SET (autovacuum_enabled = false)`)
  await registry.prisma.$executeRaw(sql`
    INSERT INTO definitions (organization, project, kind, slug, name, first_seen_at, first_record_id)
    SELECT 'acme', 'shop', 'event', 'known_' || nth, 'Known', now(), gen_random_uuid()
    FROM generate_series(1, ${DEFINITIONS}::int) AS nth`)
  await registry.prisma.$executeRaw(sql`
    INSERT INTO claims (organization, project, kind, slug, record_id, partition, asked_at, holders, may_have_landed)
    SELECT 'acme', 'shop', 'event', 'claimed_' || nth, gen_random_uuid(), 0, now(), '{}', false
    FROM generate_series(1, ${CLAIMS}::int) AS nth`)
}

// With a join instead of the look-up by key, these 250 new names read 4.5 million rows, twice half a second.
it('a claim reads each definition and each claim of its project a few times, not each pair', async () => {
  await givenNamesWithoutStatistics()
  const slugs = Array.from({ length: 250 }, (_, nth) => `new_${nth}`)
  const claim = {
    kind: 'event' as const,
    organization: 'acme',
    project: 'shop',
    recordId: randomUUID(),
    partition: 0,
    slugs,
    disabled: ['known_1'],
    limit: DEFINITIONS + CLAIMS + slugs.length - 1,
  }
  const read = await countRowsRead(registry.prisma, ['definitions', 'claims'], async () => {
    expect(await claimNames(registry.prisma, [claim], NOW)).toEqual([slugs.map(() => 'new')])
  })
  expect(read).toBeLessThan(10 * (DEFINITIONS + CLAIMS))
})

// Where each of the 250 names carries them, Postgres writes over 100 MB to disk, and the claim takes 20 times as long.
it('a claim keeps the disabled traits of its project once, not once for each name', async () => {
  const disabled = Array.from({ length: 5_000 }, (_, nth) => `${nth}`.padEnd(MAX_DISABLED_TRAIT_BYTES / 5_000 - 3, 'x'))
  const slugs = Array.from({ length: 250 }, (_, nth) => `new_${nth}`)
  const place = { organization: 'acme', project: 'large', recordId: randomUUID(), partition: 0 }
  const before = await bytesOnDisk()
  const verdicts = await claimNames(registry.prisma, [{ kind: 'trait', ...place, slugs, disabled, limit: 5_000 }], NOW)
  expect(verdicts).toEqual([slugs.map(() => 'new')])
  expect((await bytesOnDisk()) - before).toBeLessThan(1_048_576n)
})

/** Reads the bytes that queries have written to disk beyond their memory. */
async function bytesOnDisk(): Promise<bigint> {
  await registry.prisma.$queryRaw(sql`SELECT pg_stat_force_next_flush()::text`)
  const [counted] = await registry.prisma.$queryRaw<{ bytes: bigint }[]>(
    sql`SELECT temp_bytes AS bytes FROM pg_stat_database WHERE datname = current_database()`,
  )
  if (!counted) throw new Error('Postgres answered no counts.')
  return counted.bytes
}
