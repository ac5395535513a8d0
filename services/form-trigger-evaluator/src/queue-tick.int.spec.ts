import { eventTracked } from '@nextvisit/contracts/fixtures'
import { createCatalogReview } from '@nextvisit/catalog'
import { sql } from '@nextvisit/database'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { at, contextOf, nps, PARTITION } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'
import { findDueQueues } from './queue-tick.ts'

let given: GivenEvaluator
beforeAll(async () => {
  given = await givenEvaluator(inject('databaseUrl'))
})
afterAll(() => given?.stop())

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
