import type { OpenRowsAnswer, OpenRowsQuery } from '@nextvisit/contracts'
import { eventTracked, identifyRequested } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { userIdOf } from '@nextvisit/domain'
import { countRowsRead } from '@nextvisit/testing'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { at, contextOf, nps, PARTITION, SECOND } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'
import { readOpenCounts, readOpenRows } from './queries.ts'

const shop = { organization: 'acme', project: 'shop' }
const MANY = 20_000
let given: GivenEvaluator
beforeAll(async () => {
  given = await givenEvaluator(inject('databaseUrl'))
  const names = ['ada', 'bob', 'cyd']
  const facts = names.flatMap((userName, nth) => {
    const user = { userName, userId: userIdOf('acme', 'shop', userName) }
    return [identifyRequested(user), eventTracked({ ...user, received: at((3 - nth) * SECOND) })]
  })
  await given.fold(contextOf([nps]), ...facts)
  // A form that very many wait for, in two partitions; every tenth row is over.
  await given.prisma.$executeRaw(sql`
    INSERT INTO checkpoints (projection, topic, partition, next_offset)
    VALUES ('form-trigger-evaluator', 'user-events', ${PARTITION + 1}, 0)`)
  await given.prisma.$executeRaw(sql`
    INSERT INTO queue (organization, project, user_id, id, form_id, environment, state, priority, queued_at, show_from, cause_id,
                       catalog_revision, partition)
    SELECT 'acme', 'shop', gen_random_uuid(), gen_random_uuid(), 'many', 'P',
           CASE WHEN nth % 10 = 0 THEN 'expired' ELSE 'waiting' END, 0,
           ${at(0)}::timestamptz + nth * interval '1 ms', ${at(0)}::timestamptz, gen_random_uuid(), 1,
           ${PARTITION} + nth % 2
    FROM generate_series(1, ${MANY}) AS nth`)
  await given.prisma.$executeRaw(sql`ANALYZE queue`)
})
afterAll(() => given?.stop())

const rowsReadBy = (work: () => Promise<unknown>) => countRowsRead(given.prisma, ['queue'], work)

describe('a read of the open rows of all users', () => {
  it('counts up to a bound, with the oldest row', async () => {
    const formIds = ['nps', 'nothing', 'many']
    expect(await readOpenCounts(given.prisma, { ...shop, formIds, countUpTo: 100 })).toEqual({
      forms: [
        { count: 3, isMore: false, oldestAt: at(SECOND) },
        { count: 0, isMore: false, oldestAt: null },
        { count: 100, isMore: true, oldestAt: at(1) },
      ],
    })
    const { forms } = await readOpenCounts(given.prisma, { ...shop, formIds: ['many'], countUpTo: 20_000 })
    expect(forms).toEqual([{ count: MANY * 0.9, isMore: false, oldestAt: at(1) }])
    const other = { ...shop, project: 'other', formIds: ['nps'], countUpTo: 100 }
    expect((await readOpenCounts(given.prisma, other)).forms).toEqual([{ count: 0, isMore: false, oldestAt: null }])
  })

  it('lists pages over all partitions, the oldest row first', async () => {
    const first = await readOpenRows(given.prisma, { ...shop, formId: 'nps', limit: 2 })
    const names = new Map(['ada', 'bob', 'cyd'].map((name) => [userIdOf('acme', 'shop', name), name]))
    expect(first.rows.map(({ userId, state }) => [names.get(userId), state])).toEqual([
      ['cyd', 'waiting'],
      ['bob', 'waiting'],
    ])
    if (!first.next) throw new Error('There is a next page')
    const last = await readOpenRows(given.prisma, { ...shop, formId: 'nps', limit: 2, after: first.next })
    expect(last.rows.map(({ userId }) => names.get(userId))).toEqual(['ada'])
    expect(last.next).toBeNull()

    const seen = new Set<string>()
    let after: OpenRowsAnswer['next'] = null
    for (let page = 0; page < 5; page += 1) {
      const place: OpenRowsQuery = { ...shop, formId: 'many', limit: 200, ...(after && { after }) }
      const answer = await readOpenRows(given.prisma, place)
      for (const { queuedAt } of answer.rows) seen.add(queuedAt)
      after = answer.next
    }
    expect(seen.size).toBe(1_000)
    expect([...seen]).toEqual([...seen].toSorted())
  })

  it('reads only the rows that it returns, however many wait', async () => {
    const page = { ...shop, formId: 'many', limit: 50 }
    const after = { queuedAt: at(MANY / 2), queuedId: '00000000-0000-4000-8000-000000000000' }
    // A page of each partition, and one row more that says whether there is another page.
    expect(await rowsReadBy(() => readOpenRows(given.prisma, page))).toBeLessThanOrEqual(2 * 51)
    expect(await rowsReadBy(() => readOpenRows(given.prisma, { ...page, after }))).toBeLessThanOrEqual(2 * 51)
    const counts = { ...shop, formIds: ['many', 'nps'], countUpTo: 100 }
    expect(await rowsReadBy(() => readOpenCounts(given.prisma, counts))).toBeLessThanOrEqual(2 * 101 + 2 * 3 + 8)
  })
})
