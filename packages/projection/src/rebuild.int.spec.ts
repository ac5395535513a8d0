import { staticCatalog } from '@nextvisit/catalog'
import { type Db, sql } from '@nextvisit/database'
import { describe, expect, it } from 'vitest'
import { readNextOffsets } from './checkpoints.ts'
import { givenEvents, givenLog, type GivenLog } from './fixtures/given-log.ts'
import { givenRunner } from './fixtures/given-runner.ts'
import { givenVisitsDatabase } from './fixtures/given-visits.ts'
import { countVisits, createVisitsProjection, readVisits } from './fixtures/visits-projection.ts'
import { rebuildInto } from './rebuild.ts'

function rebuild({ topic, connection }: GivenLog, db: Db, until: ReadonlyMap<number, bigint>): Promise<void> {
  const projection = createVisitsProjection(topic)
  const catalog = staticCatalog([])
  return rebuildInto({ projection, db, connection, topic, until, catalog, serviceVersion: 'test' })
}

describe('a rebuild', () => {
  it('gives what the live read model was at its checkpoints, queues nothing, and goes on when it is run again', async () => {
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

  it('refuses to stop beyond the end of the log', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    await expect(rebuild(log, db, new Map([[0, 1n]]))).rejects.toMatchObject({ code: 'CHECKPOINT_OUTSIDE_LOG' })
  })
})
