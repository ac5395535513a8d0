import { type CatalogReview, type CatalogView, createCatalogReview } from '@nextvisit/catalog'
import { createPartitionFold, createReviewedTicks, type PartitionFold, type TickContext } from '@nextvisit/consumer'
import type { Form } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import { batchOf, factsAsRecords, interceptCommits } from '@nextvisit/testing'
import { afterAll, beforeAll, beforeEach, expect, inject, it } from 'vitest'
import { at, contextOf, nps, PARTITION, SECOND } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'
import { createProjection } from './projection.ts'
import { queueTicks } from './ticks.ts'

let given: GivenEvaluator
beforeAll(async () => {
  given = await givenEvaluator(inject('databaseUrl'))
})
afterAll(() => given?.stop())
beforeEach(async () => void (await given.prisma.$executeRaw(sql`DELETE FROM queue`)))

/** The catalog of one shop with this form; a change tells of an organization. */
function givenCatalog() {
  const listeners: ((organization: string) => void)[] = []
  let held = contextOf([nps]).catalog
  const catalog: CatalogView = {
    ...held,
    project: (organization, project) => held.project(organization, project),
    onChange: (listener) => void listeners.push(listener),
  }
  const change = (organization: string, form: Partial<Form> = nps) => {
    held = contextOf([form]).catalog
    for (const listener of listeners) listener(organization)
  }
  return { catalog, change }
}

/** The ticks of an evaluator; a tick answers how many rows it has changed. */
function givenTicks(db: Db, review: CatalogReview) {
  const ticks = createReviewedTicks(queueTicks, review)
  return {
    due: (context: Parameters<typeof ticks.due>[2]) => ticks.due(db, new Date(at(0)), context),
    tick: async (context: TickContext) => {
      const { outbox = [], afterCommit } = await ticks.tick(db, new Date(at(0)), context)
      afterCommit?.()
      return outbox.length
    },
  }
}

it("a tick compares a partition's forms with the catalog once, and again only for changed organizations", async () => {
  const { catalog, change } = givenCatalog()
  const review = createCatalogReview()
  const context = { ...contextOf([nps]), catalog }
  const ticks = givenTicks(given.prisma, review)
  const due = () => ticks.due({ partitions: [PARTITION], catalog })
  const tick = () => ticks.tick(context)

  await given.fold(context, eventTracked())
  expect(await due(), 'a partition that is new').toEqual([PARTITION])
  expect(await tick()).toBe(0)
  expect(await due()).toEqual([])
  // Without a change of the catalog, no evaluator cancels these rows: a cancelled one shows that a tick read them.
  await given.prisma.$executeRaw(sql`UPDATE queue SET form_id = 'gone'`)
  expect(await due(), 'not looked at').toEqual([])
  change('globex')
  expect(await due(), 'another organization').toEqual([PARTITION])
  expect(await tick()).toBe(0)
  expect(await due()).toEqual([])
  change('acme')
  expect(await due()).toEqual([PARTITION])
  expect(await tick()).toBe(1)
  expect(await due(), 'until it is cancelled').toEqual([PARTITION])
  await given.prisma.$executeRaw(sql`UPDATE queue SET state = 'cancelled'`)
  expect(await due()).toEqual([])
  expect(review.beginTick(PARTITION)).toEqual([])
})

it('a tick cancels a form that a batch queued although it was disabled before the commit', async () => {
  const { catalog, change } = givenCatalog()
  const projection = createProjection({ publishReplies: async () => {} })
  const due = (ms: number) =>
    projection.ticks?.due(given.prisma, new Date(at(ms)), { catalog, partitions: [PARTITION] })
  const round = async (fold: PartitionFold, ms: number) => {
    if ((await due(ms))?.includes(PARTITION)) await fold.tick(new Date(at(ms)))
  }
  let isOnItsWay = false
  const db = interceptCommits(given.db, async (commit) => {
    if (isOnItsWay) {
      isOnItsWay = false
      change('acme', { ...nps, enabled: false })
      // A round waits for no batch. Its tick does.
      await due(SECOND)
    }
    await commit()
  })
  const place = { topic: 'user-events', partition: PARTITION, serviceVersion: 'test' }
  const fold = createPartitionFold({ projection, db, ...place, catalog })
  const { nextOffset: from } = await fold.open()
  await round(fold, 0)
  expect(await due(0), 'settled').toEqual([])

  isOnItsWay = true
  const records = factsAsRecords([eventTracked()], { partition: PARTITION })
  const batch = batchOf(records.map((record) => ({ ...record, offset: record.offset + from })))
  await fold.fold({ ...batch, fetchedFrom: from, nextOffset: from + batch.nextOffset })
  expect(await given.queue()).toEqual(['nps waiting'])
  await round(fold, 2 * SECOND)
  expect(await given.queue()).toEqual(['nps cancelled'])
  expect(await due(3 * SECOND)).toEqual([])
})

it('a tick reads the forms of a new partition in pages, and the next tick continues', async () => {
  const forms = Array.from({ length: 12_000 }, (_, nth) => ({ id: `form-${nth}` }))
  const { catalog } = contextOf(forms)
  const answers: number[] = []
  const review = createCatalogReview()
  const db = counting(given.prisma, answers)
  const partitions = [PARTITION, PARTITION + 1]
  const ticks = givenTicks(db, review)
  const due = () => ticks.due({ partitions, catalog })
  const tick = (partition: number) => ticks.tick({ ...contextOf([]), catalog, partition })

  await givenWaiting(PARTITION, [...forms.map(({ id }) => id), 'removed'])
  await givenWaiting(PARTITION + 1, ['removed-too'])
  expect(await due()).toEqual(partitions)
  // 10,000 forms of the one partition and all of the other; then the rest.
  expect([await tick(PARTITION), await tick(PARTITION + 1)]).toEqual([0, 1])
  expect(await due()).toEqual([PARTITION + 1, PARTITION])
  expect(Math.max(...answers)).toBeLessThanOrEqual(1_000)
  await given.prisma.$executeRaw(sql`UPDATE queue SET state = 'cancelled' WHERE form_id LIKE 'removed%'`)
  expect(await due()).toEqual([])
  expect(partitions.flatMap(review.beginTick)).toEqual([])
})

/** One user waits for each of these forms. */
async function givenWaiting(partition: number, formIds: readonly string[]): Promise<void> {
  await given.prisma.$executeRaw(sql`
    INSERT INTO queue (organization, project, user_id, id, form_id, environment, state, priority, queued_at, show_from, cause_id,
                       catalog_revision, partition)
    SELECT 'acme', 'shop', gen_random_uuid(), gen_random_uuid(), form_id, 'P', 'waiting', 0, now(), now(), gen_random_uuid(),
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
