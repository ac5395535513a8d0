import { eventTracked, visitAnswered } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { countRowsRead } from '@nextvisit/testing'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { contextOf, nps, recorded } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'
import { loadDraft } from './load-draft.ts'

const TABLES = ['users', 'event_occurrences', 'queue', 'shown_forms']
const USERS = 5_000
const HANDFUL = 5
/** As a running consumer. */
const KEPT_MS = 5_000
/** From the sixth run on, Postgres might keep a statement's plan until it has new statistics. */
const BATCHES = 10
const tracked = eventTracked()
const { organization, project, userId, slug } = tracked
const answered = visitAnswered({ userId, visitId: crypto.randomUUID(), queuedId: crypto.randomUUID(), formId: 'nps' })

/** A running service loads on the connection that keeps plans, a replay on others. */
type Connection = 'db' | 'prisma'

async function givenTables(): Promise<GivenEvaluator> {
  const given = await givenEvaluator(inject('databaseUrl'), { maxConnections: 1, keepsPlansForMs: KEPT_MS })
  onTestFinished(() => given.stop())
  for (const table of TABLES) {
    await given.prisma.$executeRawUnsafe(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`)
  }
  return given
}

/** Each of these users had the event, was shown a form, and has another one that waits. */
async function givenUsers({ prisma }: GivenEvaluator, users: readonly string[]): Promise<void> {
  const known = sql`unnest(${users}::uuid[]) WITH ORDINALITY AS known (user_id, nth)`
  const user = sql`SELECT ${organization}, ${project}, user_id`
  await prisma.$executeRaw(sql`
    INSERT INTO users (organization, project, user_id, traits, trait_bytes, device) ${user}, '{}', 2, '{}' FROM ${known}`)
  await prisma.$executeRaw(sql`
    INSERT INTO event_occurrences (organization, project, user_id, slug, total, latest_ms, session_count)
    ${user}, ${slug}, 1, ARRAY[1], 0 FROM ${known}`)
  await prisma.$executeRaw(sql`
    INSERT INTO shown_forms (organization, project, user_id, form_id, times, last_at) ${user}, 'csat', 1, now() FROM ${known}`)
  await prisma.$executeRaw(sql`
    INSERT INTO queue (organization, project, user_id, id, form_id, environment, state, priority, queued_at, show_from, cause_id,
      catalog_revision, partition)
    ${user}, gen_random_uuid(), 'nps', 'P', 'waiting', 0, now(), now(), gen_random_uuid(), 1, nth % 12 FROM ${known}`)
}

/** Forms that one user was shown long ago. */
async function givenHistory({ prisma }: GivenEvaluator, forms: number): Promise<void> {
  await prisma.$executeRaw(sql`
    INSERT INTO queue (organization, project, user_id, id, form_id, environment, state, priority, queued_at, show_from, shown_at, cause_id,
      catalog_revision, partition)
    SELECT ${organization}, ${project}, ${userId}::uuid, gen_random_uuid(), 'nps', 'P', 'delivered', 0, now(), now(), now(),
      gen_random_uuid(), 1, 0 FROM generate_series(1, ${forms}::int)`)
}

const someUsers = (count: number) => Array.from({ length: count }, () => crypto.randomUUID())

/** How many open rows each of these batches finds. */
async function loadBatches(given: GivenEvaluator, connection: Connection): Promise<readonly number[]> {
  const found: number[] = []
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const draft = await loadDraft(given[connection], [recorded(tracked), recorded(answered)], contextOf([nps]))
    found.push(...Array.from(draft.users.values(), ({ queue }) => queue.rows.size))
  }
  return found
}

/**
 * Counts the rows that `work` reads of these tables, which had few users when Postgres last gathered statistics.
 * `dbsOf` returns every connection that `work` uses.
 */
async function rowsReadBy(
  work: (given: GivenEvaluator) => Promise<void>,
  dbsOf: (given: GivenEvaluator) => Parameters<typeof countRowsRead>[0],
): Promise<number> {
  const given = await givenTables()
  await givenUsers(given, [userId, ...someUsers(HANDFUL)])
  await given.prisma.$executeRaw(sql`ANALYZE`)
  await work(given)
  await givenUsers(given, someUsers(USERS))
  return countRowsRead(dbsOf(given), TABLES, () => work(given))
}

describe.each([
  { plan: 'kept', connection: 'db' },
  { plan: 'new', connection: 'prisma' },
] as const)('a batch with a plan that is $plan', ({ connection }) => {
  it('reads rows only of its users, also if there was no user at the time of the plan', async () => {
    const given = await givenTables()
    await loadBatches(given, connection)
    await givenUsers(given, [userId, ...someUsers(USERS)])
    await givenHistory(given, USERS)
    const read = await countRowsRead(given[connection], TABLES, async () =>
      expect(await loadBatches(given, connection)).toEqual(Array(BATCHES).fill(1)),
    )
    expect(read).toBeLessThan(2 * TABLES.length * BATCHES)
  })

  it('reads rows only of its users, also if there were few users at the time of the plan', async () => {
    const read = await rowsReadBy(
      async (given) => {
        expect(await loadBatches(given, connection)).toEqual(Array(BATCHES).fill(1))
      },
      (given) => given[connection],
    )
    expect(read).toBeLessThan(2 * TABLES.length * BATCHES)
  })
})

it('a tick reads only the first row of a form to find that nothing is due', async () => {
  // The round of ticks uses one connection, and the tick of a partition the other.
  const read = await rowsReadBy(
    async (given) => {
      for (let tick = 0; tick < BATCHES; tick += 1) await given.tick(contextOf([nps]), 0)
    },
    ({ prisma, db }) => [prisma, db],
  )
  expect(read).toBe(BATCHES)
})
