import { createPartitionFold, MAX_BYTES_A_COMMIT, offlineParts } from '@nextvisit/consumer'
import { eventTracked, identifyRequested } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { batchOf, factsAsRecords, storedTestKeys, watchLoads } from '@nextvisit/testing'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { catalogOf, givenProjector } from '../test/given-projector.ts'
import { createProjection } from './projection.ts'

let given: Awaited<ReturnType<typeof givenProjector>>
beforeAll(async () => {
  given = await givenProjector(inject('databaseUrl'))
})
afterAll(() => given?.stop())

const USERS = 100
const LONG = 'x'.repeat(250_000)
const names = Array.from({ length: USERS }, (_, at) => `user-${at}`)

it('a batch over users with long traits is folded in parts that fit into a commit', async () => {
  const catalog = catalogOf([])
  for (let from = 0; from < USERS; from += 20) {
    const some = names.slice(from, from + 20)
    await given.fold(
      { catalog },
      ...some.map((userName) => identifyRequested({ userName, operations: { set: { long: LONG } } })),
    )
  }
  const visits = names.map((userName) => identifyRequested({ userName, operations: { increment: { visits: 1 } } }))
  const loaded: number[] = []
  const watched = watchLoads(createProjection(offlineParts(async () => 1)), (draft) => {
    loaded.push([...draft.users.values()].reduce((sum, { profile }) => sum + (profile?.traitBytes ?? 0), 0))
  })
  const fold = createPartitionFold({
    projection: watched,
    db: given.db,
    userKeys: storedTestKeys(watched.name),
    topic: 'user-events',
    partition: 0,
    catalog,
    serviceVersion: 'test',
  })
  await fold.open()
  const { nextOffset } = fold.checkpoint()
  const batch = batchOf(factsAsRecords(visits).map((record) => ({ ...record, offset: record.offset + nextOffset })))
  await fold.fold({ ...batch, fetchedFrom: nextOffset, nextOffset: nextOffset + BigInt(USERS) })

  expect(fold.checkpoint().nextOffset).toBe(nextOffset + BigInt(USERS))
  expect(loaded.length).toBeGreaterThan(1)
  expect(Math.max(...loaded)).toBeLessThanOrEqual(MAX_BYTES_A_COMMIT)
  const [counted] = await given.prisma.$queryRaw<{ users: bigint }[]>(
    sql`SELECT count(*) AS users FROM users WHERE (traits->>'visits')::int = 1`,
  )
  expect(counted?.users).toBe(BigInt(USERS))
})

it('ticks move users with long traits into a new segment in parts', async () => {
  const turn = { catalog: catalogOf([{ id: 'visitors', where: { trait: 'visits', atLeast: 1 } }], 2) }
  expect(await given.settle(turn, '2026-11-02T12:00:00.000Z'), 'ticks').toBeGreaterThan(1)
  expect(await given.prisma.segmentMember.count()).toBe(USERS)
  await given.fold(turn, eventTracked({ userName: 'user-0' }))
})
