import { type Db, sql } from '@nextvisit/database'
import { addPartitions } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { givenEvents, givenLog, PARTITIONS } from '../../test/given-log.ts'
import { givenRunner } from '../../test/given-runner.ts'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import { countVisits } from '../../test/visits-projection.ts'

const soon = { timeout: 30_000 }
const EXPECTED = { keyPartitions: PARTITIONS, inTopic: PARTITIONS }

async function readHalted(db: Db): Promise<readonly number[]> {
  const rows = await db.$queryRaw<{ partition: number }[]>(sql`
    SELECT partition FROM partition_alarms WHERE code = 'PARTITIONS_CHANGED' ORDER BY partition`)
  return rows.map(({ partition }) => partition)
}

describe('partitions that were added to a topic', () => {
  it('are halted with the name of the runbook, in a running process and at its next start, while the others continue', async () => {
    const [log, { db }] = [await givenLog(), await givenVisitsDatabase()]
    const withExpected = { ...log, connection: { ...log.connection, partitions: EXPECTED } }
    await log.publish(givenEvents(20))
    const { runner } = await givenRunner(withExpected, db)
    await expect.poll(() => countVisits(db), soon).toBe(20)
    await addPartitions(log.connection, log.topic, PARTITIONS + 2)
    await expect.poll(() => readHalted(db), soon).toEqual([PARTITIONS, PARTITIONS + 1])
    await log.publish(givenEvents(20))
    await expect.poll(() => countVisits(db), soon).toBe(40)
    await runner.stop()
    await db.$executeRaw(sql`DELETE FROM partition_alarms`)
    await givenRunner(withExpected, db)
    await log.publish(givenEvents(20))
    await expect.poll(() => readHalted(db), soon).toEqual([PARTITIONS, PARTITIONS + 1])
    await expect.poll(() => countVisits(db), soon).toBe(60)
  })

  it('halt every partition if the configuration was changed together with the topic, until it is restored', async () => {
    const [log, { db }] = [await givenLog(), await givenVisitsDatabase()]
    const startWith = (keyPartitions: number, inTopic: number) =>
      givenRunner({ ...log, connection: { ...log.connection, partitions: { keyPartitions, inTopic } } }, db)
    await log.publish(givenEvents(20))
    const { runner } = await startWith(PARTITIONS, PARTITIONS)
    await expect.poll(() => countVisits(db), soon).toBe(20)
    await runner.stop()
    await addPartitions(log.connection, log.topic, PARTITIONS + 2)
    const { runner: changed } = await startWith(PARTITIONS + 2, PARTITIONS + 2)
    await log.publish(givenEvents(20))
    await expect.poll(() => readHalted(db), soon).toEqual([0, 1, 2, 3, 4, 5])
    expect(await countVisits(db)).toBe(20)
    await changed.stop()
    await startWith(PARTITIONS, PARTITIONS + 2)
    await expect.poll(() => countVisits(db), soon).toBe(40)
  })

  it('are read, with the records of another program, if an operator has confirmed them', async () => {
    const [log, { db }] = [await givenLog(), await givenVisitsDatabase()]
    await addPartitions(log.connection, log.topic, PARTITIONS + 2)
    await log.publish(givenEvents(20))
    const foreign = { topic: log.topic, partition: PARTITIONS, key: 'ada', value: 'not JSON', headers: {} }
    // A publisher that has not heard of the partition yet refuses the record.
    const publishForeign = async () => (await log.publisher.publish(foreign, performance.now() + 30_000)).outcome
    await expect.poll(publishForeign, soon).toBe('published')
    const connection = { ...log.connection, partitions: { keyPartitions: PARTITIONS, inTopic: PARTITIONS + 2 } }
    const { runner } = await givenRunner({ ...log, connection }, db)
    await expect.poll(() => countVisits(db), soon).toBe(20)
    expect(runner.progress()).toHaveLength(PARTITIONS + 2)
    const readLetters = () => db.$queryRaw(sql`SELECT partition FROM dead_letters`)
    await expect.poll(readLetters, soon).toEqual([{ partition: PARTITIONS }])
    expect(await readHalted(db)).toEqual([])
  })
})
