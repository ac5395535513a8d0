import { createPartitionFold, MAX_BYTES_A_COMMIT, offlineParts } from '@nextvisit/consumer'
import { identifyRequested } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { MAX_EVENT_HISTORY_BYTES } from '@nextvisit/domain'
import { batchOf, factsAsRecords, storedTestKeys, storeTestKeys, watchLoads } from '@nextvisit/testing'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { catalogOf, givenProjector } from '../test/given-projector.ts'
import { createProjection } from './projection.ts'

const USERS = 100
const SLUGS = 400
const names = Array.from({ length: USERS }, (_, at) => `user-${at}`)
/** One segment that counts all these events; its users fit into a commit only in parts. */
const where = { all: Array.from({ length: SLUGS }, (_, at) => ({ event: `e${at}`, exactly: 0 })) }
const catalog = catalogOf([{ id: 'quiet', where }])
const FIT = Math.floor(MAX_BYTES_A_COMMIT / (SLUGS * MAX_EVENT_HISTORY_BYTES))

let given: Awaited<ReturnType<typeof givenProjector>>
beforeAll(async () => {
  given = await givenProjector(inject('databaseUrl'))
})
afterAll(() => given?.stop())

async function countMembers(): Promise<number> {
  const [found] = await given.prisma.$queryRaw<{ members: number }[]>(
    sql`SELECT count(*)::int AS members FROM segment_members`,
  )
  return found?.members ?? 0
}

it('a batch over users whose segments count many events is folded in parts', async () => {
  const loaded: number[] = []
  const watched = watchLoads(createProjection(offlineParts(async () => 1)), (draft) => {
    loaded.push(draft.users.size)
  })
  const place = { topic: 'user-events', partition: 0, serviceVersion: 'test' }
  const userKeys = storedTestKeys(watched.name)
  const fold = createPartitionFold({ projection: watched, db: given.db, userKeys, ...place, catalog })
  await fold.open()
  const identifies = names.map((userName) => identifyRequested({ userName }))
  await storeTestKeys(given.db, identifies)
  await fold.fold(batchOf(factsAsRecords(identifies)))
  expect(Math.max(...loaded)).toBeLessThanOrEqual(FIT)
  expect(await countMembers()).toBe(USERS)
})

it('a tick recomputes fewer users if their segments count many events', async () => {
  await given.clear()
  await given.fold({ catalog: catalogOf([]) }, ...names.map((userName) => identifyRequested({ userName })))
  const now = new Date().toISOString()
  const turn = { catalog: catalogOf([{ id: 'quiet', where }], 2) }
  expect(await given.tick(turn, now)).toBe(true)
  expect(await countMembers()).toBe(FIT)
  await given.settle(turn, now)
  expect(await countMembers()).toBe(USERS)
})
