import { type Db, sql } from '@nextvisit/database'
import { describe, expect, it } from 'vitest'
import { givenEvents, givenLog, PARTITIONS, recreateTopic } from '../../test/given-log.ts'
import { givenRunner } from '../../test/given-runner.ts'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import { countVisits } from '../../test/visits-projection.ts'

const soon = { timeout: 20_000 }
const visitsOf = (db: Db) => () => countVisits(db)

/** A runner has folded 40 records. */
async function givenFolded() {
  const log = await givenLog()
  const { db } = await givenVisitsDatabase()
  await log.publish(givenEvents(40))
  const { runner } = await givenRunner(log, db)
  await expect.poll(visitsOf(db), soon).toBe(40)
  return { log, db, runner }
}

const readOffsets = (db: Db) => db.$queryRaw(sql`SELECT partition, next_offset FROM checkpoints ORDER BY partition`)

/** Reads the codes of the partitions' halts, like `nextvisit status`. */
async function readHalts(db: Db): Promise<readonly string[]> {
  const rows = await db.$queryRaw<{ code: string }[]>(sql`SELECT code FROM partition_alarms WHERE kind = 'halted'`)
  return rows.map(({ code }) => code)
}

describe('a topic that was created again', () => {
  it('halts every partition once it has grown past the checkpoints, and no row or checkpoint changes', async () => {
    const { log, db, runner } = await givenFolded()
    await runner.stop()
    const before = await readOffsets(db)
    await recreateTopic(log)
    await log.publish(givenEvents(100))
    const { onFailure } = await givenRunner(log, db)
    await expect
      .poll(() => readHalts(db), soon)
      .toEqual(Array.from({ length: PARTITIONS }, () => 'CHECKPOINT_OF_ANOTHER_LOG'))
    const messages = await db.$queryRaw(sql`SELECT message FROM partition_alarms LIMIT 1`)
    expect(messages).toMatchObject([{ message: expect.stringContaining('docs/runbooks/restored.md') }])
    expect(onFailure).not.toHaveBeenCalled()
    expect(await readOffsets(db)).toEqual(before)
    expect(await countVisits(db)).toBe(40)
  })

  it('halts every partition by the end of the log if it has not grown past the checkpoints', async () => {
    const { log, db, runner } = await givenFolded()
    await runner.stop()
    await recreateTopic(log)
    await givenRunner(log, db)
    await expect.poll(async () => new Set(await readHalts(db)), soon).toEqual(new Set(['CHECKPOINT_OUTSIDE_LOG']))
  })

  it('halts partitions of a running process', async () => {
    const { log, db, runner } = await givenFolded()
    await recreateTopic(log)
    await log.publish(givenEvents(10))
    await expect.poll(async () => (await readHalts(db)).length, soon).toBeGreaterThan(0)
    expect(runner.progress().flatMap(({ alarms }) => alarms.map(({ kind }) => kind))).toContain('halted')
    expect(await countVisits(db)).toBe(40)
  })
})
