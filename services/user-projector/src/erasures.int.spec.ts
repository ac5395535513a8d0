import { createPartitionFold, type FoldMode, offlineParts, type UserKeys } from '@nextvisit/consumer'
import { type Db, sql } from '@nextvisit/database'
import type { FetchedRecord } from '@nextvisit/log'
import { interceptCommits, readPropertySettings } from '@nextvisit/testing'
import { type ErasureStory, erasureSteps, tellErasures } from '@nextvisit/testing/erasure-stories'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { catalogOf, givenProjector, readAllRows } from '../test/given-projector.ts'
import { createProjection } from './projection.ts'

const settings = readPropertySettings(25)
const catalog = catalogOf([
  { id: 'pros', where: { trait: 'plan', is: 'pro' } },
  { id: 'active', where: { event: 'checkout_completed', atLeast: 2, within: '1h' } },
  { id: 'quiet', where: { not: { segment: 'active' } } },
])

let given: Awaited<ReturnType<typeof givenProjector>>

beforeAll(async () => {
  given = await givenProjector(inject('databaseUrl'))
})
afterAll(() => given?.stop())

interface Telling {
  readonly keys: UserKeys
  readonly mode?: FoldMode
  /** The sizes of the batches, in turn. */
  readonly sizes: readonly number[]
}

/** Folds records of a log of `length` records in an empty read model, and returns its rows. */
async function fold(
  records: readonly FetchedRecord[],
  length: number,
  { keys, mode = 'live', sizes }: Telling,
): Promise<unknown> {
  await given.clear()
  const own = { topic: 'user-events', partition: 0, catalog, serviceVersion: 'test', mode, userKeys: keys }
  const partition = createPartitionFold({
    projection: createProjection(offlineParts(async () => 1)),
    db: given.db,
    ...own,
  })
  await partition.open()
  for (let [turn, from] = [0, 0]; from < length; turn += 1) {
    const to = Math.min(length, from + (sizes[turn % sizes.length] ?? 1))
    const isWithin = ({ offset }: FetchedRecord): boolean => offset >= from && offset < to
    const place = { topic: 'user-events', partition: 0, highWatermark: BigInt(length), fetchedFrom: BigInt(from) }
    await partition.fold({ ...place, nextOffset: BigInt(to), records: records.filter(isWithin) })
    // An erasure cuts a batch, and the reader continues there.
    from = Number(partition.checkpoint().nextOffset)
  }
  return readAllRows(given.db)
}

/** Returns the rows that the rule leaves: those of the records that count. */
function expectedOf({ counting, records, keys }: ErasureStory): Promise<unknown> {
  return fold(counting, records.length, { keys, sizes: [records.length] })
}

/** The members in the form of `userId/segmentId`. */
async function readMembers(): Promise<readonly string[]> {
  const rows = await given.prisma.segmentMember.findMany()
  return rows.map(({ userId, segmentId }) => `${userId}/${segmentId}`).toSorted()
}

/** The same as a reader of form-events knows them: it drops the changes whose cause is before the user's last erasure. */
async function readPublishedMembers(): Promise<readonly string[]> {
  const erased = await given.db.$queryRaw<{ userId: string; offset: bigint }[]>(
    sql`SELECT user_id AS "userId", "offset" FROM erased_users`,
  )
  const fences = new Map(erased.map(({ userId, offset }) => [userId, offset]))
  const changes = await given.takePublished()
  const counting = changes.filter(({ userId, causeOffset }) => BigInt(causeOffset) >= (fences.get(userId) ?? 0n))
  const last = new Map(counting.map(({ userId, segmentId, type }) => [`${userId}/${segmentId}`, type]))
  return [...last].flatMap(([key, type]) => (type === 'SegmentEntered' ? key : [])).toSorted()
}

const readSegmentCounts = (db: Db) =>
  db.$queryRaw(sql`SELECT segment_id AS id, members::int FROM segment_counts WHERE members <> 0 ORDER BY id`)

describe('erasures', () => {
  it(
    'leave the rows and the published memberships of the records after them, in any batches, live and in a replay with or without destroyed keys',
    async () => {
      const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 })
      await fc.assert(
        fc.asyncProperty(erasureSteps, sizes, sizes, async (steps, liveSizes, replaySizes) => {
          const story = tellErasures(steps)
          const { records, keys, keptKeys } = story
          const expected = await expectedOf(story)
          expect(await fold(records, records.length, { keys, sizes: liveSizes })).toEqual(expected)
          expect(await readPublishedMembers()).toEqual(await readMembers())
          for (const replayed of [keys, keptKeys])
            expect(
              await fold(records, records.length, { keys: replayed, mode: 'rebuild', sizes: replaySizes }),
            ).toEqual(expected)
        }),
        { numRuns: settings.runs, ...settings.replay },
      )
    },
    settings.withinMs,
  )

  it('take their users from segments and counts, and report how many rows they have deleted', async () => {
    const step = { userName: 'ada', isStale: false } as const
    const { records, keys } = tellErasures([
      { ...step, what: 'visit' },
      { ...step, userName: 'bob', what: 'visit' },
      { ...step, what: 'event' },
      { ...step, what: 'event' },
      { ...step, what: 'erasure' },
    ])
    await fold(records.slice(0, 4), 4, { keys, sizes: [4] })
    expect(await readSegmentCounts(given.db)).toEqual([
      { id: 'active', members: 1 },
      { id: 'pros', members: 2 },
      { id: 'quiet', members: 1 },
    ])
    await fold(records, 5, { keys, sizes: [4] })
    expect(await readSegmentCounts(given.db)).toEqual([
      { id: 'pros', members: 1 },
      { id: 'quiet', members: 1 },
    ])
    // The profile, the count of an event, and two segments.
    expect(await given.db.$queryRaw(sql`SELECT rows::int FROM erased_users`)).toEqual([{ rows: 4 }])
  })

  it('make a tick stale that has read their users before', async () => {
    const step = { userName: 'ada', isStale: false } as const
    const { records, keys } = tellErasures([
      { ...step, what: 'event' },
      { ...step, what: 'visit' },
      { ...step, what: 'event' },
      { ...step, what: 'erasure' },
    ])
    await fold(records.slice(0, 3), 3, { keys, sizes: [3] })
    const erasing = await given.openFold({ catalog })
    const place = { topic: 'user-events', partition: 0, highWatermark: 4n, fetchedFrom: 3n, nextOffset: 4n }
    const db = interceptCommits(given.db, async (commit) => {
      await erasing.fold({ ...place, records: records.slice(3) })
      await commit()
    })
    const ticking = await given.openFold({ catalog, db })
    // The window of the segment has passed, so the tick changes the user.
    expect(await ticking.tick(new Date('2026-11-02T12:00:00.000Z'))).toEqual({ outcome: 'stale' })
    expect(await readAllRows(given.db)).toEqual([])
  })
})
