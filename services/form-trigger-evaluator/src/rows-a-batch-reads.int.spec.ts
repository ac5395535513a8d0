import { eventTracked } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { countRowsRead } from '@nextvisit/testing'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { contextOf, nps, recorded } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'
import { loadDraft } from './load-draft.ts'

const USERS = 5_000
/** From its sixth run on, a statement keeps its plan until Postgres has new statistics. */
const BATCHES = 10
const searched = eventTracked({ eventName: 'Searched' })
const { organization, project, userId } = searched

let given: GivenEvaluator
beforeAll(async () => {
  given = await givenEvaluator(inject('databaseUrl'), { maxConnections: 1 })
  await given.prisma.$executeRaw(sql`ALTER TABLE queue SET (autovacuum_enabled = false)`)
})
afterAll(() => given.stop())

/** Of this user and many others, each has a form that waits. */
async function givenOpenRows(): Promise<void> {
  await given.prisma.$executeRaw(sql`
    INSERT INTO queue (organization, project, user_id, id, form_id, state, priority, queued_at, show_from, cause_id,
      catalog_revision, partition)
    SELECT ${organization}, ${project}, user_id, gen_random_uuid(), 'nps', 'waiting', 0, now(), now(),
      gen_random_uuid(), 1, nth % 12
    FROM (
      SELECT gen_random_uuid(), nth FROM generate_series(2, ${USERS}::int) AS nth UNION ALL SELECT ${userId}::uuid, 1
    ) AS known (user_id, nth)`)
}

/** How many open rows each of these batches finds. */
async function loadBatches(): Promise<readonly number[]> {
  const found: number[] = []
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const draft = await loadDraft(given.prisma, [recorded(searched)], contextOf([nps]))
    found.push(...Array.from(draft.users.values(), ({ queue }) => queue.rows.size))
  }
  return found
}

it('reads open rows only of the users of the batch, also by a plan from before forms waited for many others', async () => {
  await loadBatches()
  await givenOpenRows()
  const read = await countRowsRead(given.prisma, ['queue'], async () =>
    expect(await loadBatches()).toEqual(Array(BATCHES).fill(1)),
  )
  expect(read).toBeLessThan(2 * BATCHES)
})
