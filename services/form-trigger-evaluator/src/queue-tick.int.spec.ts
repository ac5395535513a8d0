import { eventTracked } from '@nextvisit/contracts/fixtures'
import { createCatalogReview } from '@nextvisit/catalog'
import { type Db, sql } from '@nextvisit/database'
import { afterAll, beforeAll, beforeEach, expect, inject, it } from 'vitest'
import { at, contextOf, nps, PARTITION } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'
import { findDueQueues } from './queue-tick.ts'

let given: GivenEvaluator
beforeAll(async () => {
  given = await givenEvaluator(inject('databaseUrl'))
})
afterAll(() => given?.stop())
beforeEach(async () => void (await given.prisma.$executeRaw(sql`DELETE FROM queue`)))

it('looks for removed forms once for a partition, and then only where the catalog has changed', async () => {
  const listeners: ((organization: string) => void)[] = []
  const held = contextOf([nps]).catalog
  const catalog = { ...held, onChange: (listener: (typeof listeners)[0]) => void listeners.push(listener) }
  const review = createCatalogReview()
  const due = () => findDueQueues(given.prisma, new Date(at(0)), { partitions: [PARTITION], catalog }, review)

  await given.fold(contextOf([nps]), eventTracked())
  expect(await due()).toEqual([])
  // What no evaluator does without a change of the catalog: so it shows whether rows are looked at.
  await given.prisma.$executeRaw(sql`UPDATE queue SET form_id = 'gone'`)
  expect(await due(), 'not looked at').toEqual([])
  for (const listener of listeners) listener('globex')
  expect(await due(), 'another organization').toEqual([])
  for (const listener of listeners) listener('acme')
  expect(await due()).toEqual([PARTITION])
  expect(await due(), 'until it is cancelled').toEqual([PARTITION])
  await given.prisma.$executeRaw(sql`UPDATE queue SET state = 'cancelled'`)
  expect(await due()).toEqual([])
  expect(review.scopesOf(PARTITION)).toEqual([])
})

it('looks at the forms of a new partition in pages, and goes on at the next tick', async () => {
  const forms = Array.from({ length: 12_000 }, (_, nth) => ({ id: `form-${nth}` }))
  const { catalog } = contextOf(forms)
  const answers: number[] = []
  const review = createCatalogReview()
  const db = counting(given.prisma, answers)
  const due = () => findDueQueues(db, new Date(at(0)), { partitions: [PARTITION, PARTITION + 1], catalog }, review)

  await givenWaiting(PARTITION, [...forms.map(({ id }) => id), 'removed'])
  await givenWaiting(PARTITION + 1, ['removed-too'])
  // 9,500 forms of the one partition and all of the other; then the rest.
  expect(await due()).toEqual([PARTITION + 1])
  expect(await due()).toEqual([PARTITION + 1, PARTITION])
  expect(Math.max(...answers)).toBeLessThanOrEqual(1_000)
  await given.prisma.$executeRaw(sql`UPDATE queue SET state = 'cancelled' WHERE form_id LIKE 'removed%'`)
  expect(await due()).toEqual([])
  expect([PARTITION, PARTITION + 1].flatMap(review.scopesOf)).toEqual([])
})

/** One user waits for each of these forms. */
async function givenWaiting(partition: number, formIds: readonly string[]): Promise<void> {
  await given.prisma.$executeRaw(sql`
    INSERT INTO queue (organization, project, user_id, id, form_id, state, priority, queued_at, show_from, cause_id,
                       catalog_revision, partition)
    SELECT 'acme', 'shop', gen_random_uuid(), gen_random_uuid(), form_id, 'waiting', 0, now(), now(), gen_random_uuid(),
           1, ${partition}::int
    FROM unnest(${formIds}::text[]) AS form_id`)
}

/** Notes how many rows each query answers. */
function counting(db: Db, answers: number[]): Db {
  const $queryRaw = (async (query) => {
    const rows = await db.$queryRaw<unknown[]>(query)
    answers.push(rows.length)
    return rows
  }) as Db['$queryRaw']
  return { $queryRaw, $executeRaw: (statement) => db.$executeRaw(statement), $disconnect: () => db.$disconnect() }
}
