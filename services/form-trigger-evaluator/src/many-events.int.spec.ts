import { createPartitionFold, MAX_BYTES_A_COMMIT } from '@nextvisit/consumer'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { MAX_EVENT_HISTORY_BYTES } from '@nextvisit/domain'
import { batchOf, factsAsRecords, watchLoads } from '@nextvisit/testing'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { contextOf, nps } from '../test/evaluator-fixtures.ts'
import { type GivenEvaluator, givenEvaluator } from '../test/given-evaluator.ts'
import { createProjection } from './projection.ts'

const USERS = 100
const SLUGS = 400
const checkouts = Array.from({ length: USERS }, (_, at) => eventTracked({ userName: `user-${at}` }))
/** One form whose audience counts all these events: its users fit into a commit only in parts. */
const audience = { all: Array.from({ length: SLUGS }, (_, at) => ({ event: `e${at}`, exactly: 0 })) }
const { catalog } = contextOf([{ ...nps, audience }])
/** Each asks for these events and for its own. */
const FIT = Math.floor(MAX_BYTES_A_COMMIT / ((SLUGS + 1) * MAX_EVENT_HISTORY_BYTES))

let given: GivenEvaluator
beforeAll(async () => {
  given = await givenEvaluator(inject('databaseUrl'))
})
afterAll(() => given?.stop())

it('a batch over users whose forms ask for many events is folded in parts', async () => {
  const loaded: number[] = []
  const watched = watchLoads(createProjection({ publishReplies: async () => {} }), (draft) => {
    loaded.push(draft.users.size)
  })
  const place = { topic: 'user-events', partition: 0, serviceVersion: 'test' }
  const fold = createPartitionFold({ projection: watched, db: given.db, ...place, catalog })
  await fold.open()
  await fold.fold(batchOf(factsAsRecords(checkouts)))
  expect(Math.max(...loaded)).toBeLessThanOrEqual(FIT)
  expect(await given.queue()).toEqual(checkouts.map(() => 'nps waiting'))
})
