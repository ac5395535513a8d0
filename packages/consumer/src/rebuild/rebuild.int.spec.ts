import { setTimeout as sleep } from 'node:timers/promises'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { eventTracked, identifyRequested, userIdFixture } from '@nextvisit/contracts/fixtures'
import { type CommitDb, sql } from '@nextvisit/database'
import { partitionForKey, readWatermarks } from '@nextvisit/log'
import { interceptCommits } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { createOpeningProjection, givenKeys } from '../../test/given-keys.ts'
import { givenEvents, givenLog, type GivenLog, PARTITIONS } from '../../test/given-log.ts'
import { givenRunner } from '../../test/given-runner.ts'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import { countVisits, createVisitsProjection, readVisits } from '../../test/visits-projection.ts'
import { readNextOffsets } from '../fold/checkpoint.ts'
import { rebuildInto } from './rebuild.ts'

function rebuild({ topic, connection }: GivenLog, db: CommitDb, until: ReadonlyMap<number, bigint>): Promise<void> {
  const projection = createVisitsProjection(topic)
  const catalog = staticCatalog([])
  return rebuildInto({ projection, db, connection, topic, until, catalog, serviceVersion: 'test' })
}

describe('a rebuild', () => {
  it('produces the live rows as of its checkpoints, writes no outbox rows, and continues when it is run again', async () => {
    const log = await givenLog()
    const [live, shadow] = [await givenVisitsDatabase(), await givenVisitsDatabase()]
    await log.publish(givenEvents(200), ['{"broken'])
    const { runner } = await givenRunner(log, live.db)
    await expect.poll(() => countVisits(live.db), { timeout: 20_000 }).toBe(200)
    await runner.stop()
    const checkpoints = await readNextOffsets(live.db, 'visits', log.topic)
    await log.publish(givenEvents(50))

    const halfway = new Map(Array.from(checkpoints, ([partition, end]) => [partition, end / 2n]))
    for (const until of [halfway, checkpoints, checkpoints]) await rebuild(log, shadow.db, until)
    expect(await readNextOffsets(shadow.db, 'visits', log.topic)).toEqual(checkpoints)
    expect(await readVisits(shadow.db)).toEqual(await readVisits(live.db))
    expect(await shadow.db.$queryRaw(sql`SELECT FROM outbox`)).toEqual([])
    expect(await shadow.db.$queryRaw(sql`SELECT reason FROM dead_letters`)).toEqual([{ reason: 'value is not JSON' }])
  })

  it('opens sealed records with keys that it reads itself, and erases the records that the live fold has erased', async () => {
    const log = await givenLog()
    const keys = await givenKeys(log, (userId) => partitionForKey(userId, PARTITIONS))
    const [live, shadow] = [await givenVisitsDatabase(), await givenVisitsDatabase()]
    const names = Array.from({ length: 20 }, (_, index) => `user-${index}`)
    await keys.publish(...names.map((name) => userIdFixture(name)))
    await keys.destroy(userIdFixture('user-7'))
    await log.publish([...names.map((userName) => identifyRequested({ userName })), ...givenEvents(100)])
    const projection = createOpeningProjection(log.topic)
    const { runner } = await givenRunner(log, live.db, { projection, userKeys: keys.open() })
    await expect.poll(() => countVisits(live.db), { timeout: 20_000 }).toBe(119)
    await runner.stop()
    const until = await readNextOffsets(live.db, 'visits', log.topic)
    const parts = { projection, db: shadow.db, ...log, until, catalog: staticCatalog([]), serviceVersion: 'test' }
    await rebuildInto({ ...parts, userKeys: keys.open({ pullWithinMs: Infinity }) })
    expect(await readVisits(shadow.db)).toEqual(await readVisits(live.db))
    expect(await readKeys(shadow.db)).toEqual(await readKeys(live.db))
  })

  it('loads one partition while it commits another, and commits one at a time', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    await log.publish(givenEvents(200))
    const { watched, running } = watching(db, async () => {
      await sleep(200) // others would commit meanwhile
      expect(running.commits).toBe(1)
    })
    await rebuild(log, watched, await endsOf(log))
    expect(await countVisits(db)).toBe(200)
  })

  it('waits for the commit of another partition before it reports a failure', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    const bug = eventTracked({ userName: 'ada', eventName: 'A Bug' })
    await log.publish([bug, ...givenEvents(200)])
    const { watched, running } = watching(db, () => sleep(500)) // ada's partition fails meanwhile
    await expect(rebuild(log, watched, await endsOf(log))).rejects.toMatchObject({ code: 'FOLD_FAILED' })
    expect(running.commits).toBe(0)
  })

  it('refuses to stop beyond the end of the log', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    await expect(rebuild(log, db, new Map([[0, 1n]]))).rejects.toMatchObject({ code: 'CHECKPOINT_OUTSIDE_LOG' })
  })
})

function readKeys(db: CommitDb): Promise<unknown> {
  return db.$queryRaw(sql`SELECT * FROM user_keys ORDER BY user_id`)
}

async function endsOf({ topic, connection }: GivenLog): Promise<ReadonlyMap<number, bigint>> {
  return new Map(Array.from(await readWatermarks(connection, topic), ([partition, { high }]) => [partition, high]))
}

/** Each commit waits until all concurrent partitions were loaded, and for the work of the test. */
function watching(db: CommitDb, meanwhile: () => Promise<void>) {
  const running = { loads: 0, commits: 0 }
  const counting: CommitDb = {
    ...db,
    $queryRaw: (query) => {
      if (query.sql.includes('FROM "visits"')) running.loads += 1
      return db.$queryRaw(query)
    },
  }
  const watched = interceptCommits(counting, async (commit) => {
    running.commits += 1
    await expect.poll(() => running.loads, { timeout: 10_000 }).toBeGreaterThanOrEqual(3)
    await meanwhile()
    await commit().finally(() => (running.commits -= 1))
  })
  return { watched, running }
}
