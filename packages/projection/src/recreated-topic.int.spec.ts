import { type Db, sql } from '@nextvisit/database'
import { createLogAdmin } from '@nextvisit/log'
import { describe, expect, it } from 'vitest'
import { type GivenLog, givenEvents, givenLog, PARTITIONS } from '../test/given-log.ts'
import { givenRunner } from '../test/given-runner.ts'
import { givenVisitsDatabase } from '../test/given-visits.ts'
import { countVisits } from '../test/visits-projection.ts'

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

async function recreateTopic({ topic, connection }: GivenLog): Promise<void> {
  const admin = createLogAdmin(connection)
  await admin.connect()
  await admin.deleteTopic(topic)
  await expect.poll(() => admin.partitionCount(topic), soon).toBe(0)
  await admin.createTopic(topic, { partitions: PARTITIONS })
  await admin.disconnect()
}

const readOffsets = (db: Db) => db.$queryRaw(sql`SELECT partition, next_offset FROM checkpoints ORDER BY partition`)

describe('a topic that was created again', () => {
  it('halts the projection once it has grown past the checkpoints, with nothing folded or moved', async () => {
    const { log, db, runner } = await givenFolded()
    await runner.stop()
    const before = await readOffsets(db)
    await recreateTopic(log)
    await log.publish(givenEvents(100))
    const { onFailure } = await givenRunner(log, db)
    await expect.poll(() => onFailure.mock.calls.length, soon).toBe(1)
    expect(onFailure.mock.calls[0]?.[0]).toMatchObject({
      code: 'CHECKPOINT_OF_ANOTHER_LOG',
      retryable: false,
      message: expect.stringContaining('docs/runbooks/restored.md'),
    })
    expect(await readOffsets(db)).toEqual(before)
    expect(await countVisits(db)).toBe(40)
  })

  it('halts it by the log’s end where it has not grown as far', async () => {
    const { log, db, runner } = await givenFolded()
    await runner.stop()
    await recreateTopic(log)
    const { onFailure } = await givenRunner(log, db)
    await expect.poll(() => onFailure.mock.calls[0]?.[0], soon).toMatchObject({ code: 'CHECKPOINT_OUTSIDE_LOG' })
  })
})
