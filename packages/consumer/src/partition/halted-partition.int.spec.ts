import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import { publishCompressed, spaces } from '@nextvisit/log/test/publish-compressed.ts'
import { createLogger } from '@nextvisit/service-kit'
import { deleteRecords } from '@nextvisit/testing'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { givenEvents, type GivenLog, givenLog, partitionOf, PARTITIONS } from '../../test/given-log.ts'
import { givenRunner } from '../../test/given-runner.ts'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import { countVisits, createVisitsProjection } from '../../test/visits-projection.ts'
import { requestSetAside } from '../dead-letters/request-set-aside.ts'
import { evolveDraft } from '../core/projection.ts'

const soon = { timeout: 20_000 }
const ADA = partitionOf('ada')
const others = Array.from({ length: 50 }, (_, index) => `user-${index}`).filter((name) => partitionOf(name) !== ADA)
const ofAda = (...names: readonly string[]) => names.map((eventName) => eventTracked({ userName: 'ada', eventName }))
const ofOthers = (count: number) => givenEvents(count, (index) => others[index % others.length] ?? '')

async function given() {
  const log = await givenLog()
  const { db, openDb } = await givenVisitsDatabase()
  const [first, bad] = ofAda('Fine', 'A bug')
  if (!first || !bad) throw new Error('two events')
  await log.publish([first, bad, ...ofAda('Later'), ...ofOthers(30)])
  return { log, db, openDb, bad }
}

async function readHalts(db: Db): Promise<unknown> {
  return db.$queryRaw(
    sql`SELECT partition, "offset", record_id AS "recordId", code, message FROM partition_alarms WHERE kind = 'halted'`,
  )
}

/** Sets a record aside like the console and `nextvisit dead-letters set-aside`. */
async function askToSetAside({ topic }: GivenLog, db: Db, offset: bigint): Promise<void> {
  const position = { topic, partition: ADA, offset: String(offset) }
  expect(await requestSetAside(db, 'visits', position, 'ops')).toEqual({ outcome: 'asked' })
}

async function readLetters(db: Db): Promise<unknown> {
  return db.$queryRaw(sql`SELECT "offset", state, reason FROM dead_letters`)
}

describe('a record that the fold throws for', () => {
  it('halts its partition and logs it: the records before it are folded, and the other partitions continue', async () => {
    const { log, db, bad } = await given()
    const metrics = new Registry()
    const lines: string[] = []
    const logger = createLogger('spec', 'error', { write: (line) => void lines.push(line) })
    const { runner, onFailure } = await givenRunner(log, db, { metrics, logger })
    const halt = { partition: ADA, offset: 1n, recordId: bad.id, code: 'FOLD_FAILED', message: 'TypeError: a bug' }
    await expect.poll(() => readHalts(db), soon).toEqual([halt])
    await expect.poll(() => countVisits(db), soon).toBe(31)
    await log.publish(ofOthers(20))
    await expect.poll(() => countVisits(db), soon).toBe(51)
    const gauge = await metrics.getSingleMetric('projection_halted')?.get()
    expect(gauge?.values.filter(({ value }) => value === 1)).toMatchObject([{ labels: { partition: ADA } }])
    expect(runner.progress().find(({ partition }) => partition === ADA)?.alarms).toMatchObject([{ kind: 'halted' }])
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { topic: log.topic, partition: ADA, offset: '1', recordId: bad.id, msg: expect.stringContaining('halted.md') },
    ])
    expect(onFailure).not.toHaveBeenCalled()
  })

  it('halts the partition in the next process, too, which continues with the others', async () => {
    const { log, db, openDb } = await given()
    const { runner } = await givenRunner(log, db)
    await expect.poll(() => readHalts(db), soon).toHaveLength(1)
    await runner.stop()
    const second = await givenRunner(log, openDb())
    const halted = () => second.runner.progress().filter(({ alarms }) => alarms.length > 0)
    await expect.poll(() => halted().map(({ partition }) => partition), soon).toEqual([ADA])
    await log.publish(ofOthers(20))
    await expect.poll(() => countVisits(db), soon).toBe(51)
    expect(second.onFailure).not.toHaveBeenCalled()
  })

  it('does not stop the other partitions during a rebalance', async () => {
    const { log, db, openDb } = await given()
    const first = await givenRunner(log, db)
    await expect.poll(() => readHalts(db), soon).toHaveLength(1)
    const second = await givenRunner(log, openDb())
    await expect.poll(() => second.runner.progress().length, soon).toBe(PARTITIONS / 2)
    await log.publish(ofOthers(20))
    await expect.poll(() => countVisits(db), soon).toBe(51)
    const alarms = () => [first, second].flatMap(({ runner }) => runner.progress().flatMap((one) => one.alarms))
    await expect.poll(() => alarms(), soon).toMatchObject([{ kind: 'halted', offset: 1n }])
  })

  it('becomes a dead letter once an operator sets it aside, and the partition continues without a restart', async () => {
    const { log, db } = await given()
    const { runner } = await givenRunner(log, db)
    await expect.poll(() => readHalts(db), soon).toHaveLength(1)
    await askToSetAside(log, db, 1n)
    await expect.poll(() => countVisits(db), soon).toBe(32)
    expect(await readLetters(db)).toEqual([{ offset: 1n, state: 'dead', reason: 'set aside by ops: TypeError: a bug' }])
    expect(runner.progress().flatMap(({ alarms }) => alarms)).toEqual([])
    await log.publish(ofAda('After'))
    await expect.poll(() => countVisits(db), soon).toBe(33)
  })

  it('can be set aside as soon as the process reports that its halt is written', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    const { runner } = await givenRunner(log, db)
    await log.publish(ofAda('Fine'))
    await expect.poll(() => countVisits(db), soon).toBe(1)
    await db.$executeRaw(sql`ALTER TABLE partition_alarms RENAME TO elsewhere`)
    await log.publish(ofAda('A bug', 'Later'))
    const halts = () =>
      runner.progress().flatMap((one) => one.alarms.map((alarm) => ({ ...alarm, can: runner.canSetAside(one, alarm) })))
    await expect.poll(halts, soon).toMatchObject([{ kind: 'halted', offset: 1n, can: false }])
    await db.$executeRaw(sql`ALTER TABLE elsewhere RENAME TO partition_alarms`)
    await expect.poll(halts, { ...soon, interval: 1 }).toMatchObject([{ can: true }])
    await askToSetAside(log, db, 1n)
    await expect.poll(() => countVisits(db), soon).toBe(2)
    expect(await readLetters(db)).toMatchObject([{ offset: 1n, reason: 'set aside by ops: TypeError: a bug' }])
  })

  it('is set aside by the next owner of the partition if the first one ends before it does so', async () => {
    const { log, db, openDb } = await given()
    const { runner } = await givenRunner(log, db)
    await expect.poll(() => readHalts(db), soon).toHaveLength(1)
    await runner.stop()
    await askToSetAside(log, db, 1n)
    await givenRunner(log, openDb())
    await expect.poll(() => countVisits(db), soon).toBe(32)
    expect(await readLetters(db)).toMatchObject([{ offset: 1n, state: 'dead' }])
  })

  it('is folded by a release that can fold it, even if an operator has requested to set it aside', async () => {
    const { log, db, openDb } = await given()
    const { runner } = await givenRunner(log, db)
    await expect.poll(() => readHalts(db), soon).toHaveLength(1)
    await runner.stop()
    await askToSetAside(log, db, 1n)
    const visits = createVisitsProjection(log.topic)
    const evolve: typeof visits.evolve = {
      ...visits.evolve,
      EventTracked: (draft, { fact, ...record }, context) =>
        evolveDraft(visits, draft, [{ ...record, fact: { ...fact, slug: 'mended' } }], context),
    }
    await givenRunner(log, openDb(), { projection: { ...visits, evolve } })
    await expect.poll(() => countVisits(db), soon).toBe(33)
    expect(await readLetters(db)).toEqual([])
  })

  it('halts the partition again at the next one, which is not set aside', async () => {
    const { log, db } = await given()
    await log.publish(ofAda('A bug'))
    await givenRunner(log, db)
    await expect.poll(() => readHalts(db), soon).toMatchObject([{ offset: 1n }])
    await askToSetAside(log, db, 1n)
    await expect.poll(() => readHalts(db), soon).toMatchObject([{ offset: 3n }])
    expect(await countVisits(db)).toBe(32)
    expect(await readLetters(db)).toMatchObject([{ offset: 1n }])
  })
})

/** A dead letter that describes an undecodable batch. */
const described = (offsets: string, records: string) => ({
  key: null,
  headers: expect.objectContaining({ 'omitted-offsets': offsets, 'omitted-records': records }),
  reason: expect.stringMatching(/^set aside by ops: UndecodableBatchError: The batch at offset/),
})

describe('a batch of the log that cannot be decoded', () => {
  const MIB = 1024 * 1024
  const tooLarge = { records: 1, value: spaces(17 * MIB) }

  async function givenUndecodable() {
    const log = await givenLog()
    const { db, openDb } = await givenVisitsDatabase()
    const place = { topic: log.topic, partition: ADA }
    await log.publish([...ofAda('Fine'), ...ofOthers(30)])
    await publishCompressed(log.connection, place, { records: 150_000 })
    await log.publish(ofAda('Between'))
    await publishCompressed(log.connection, place, tooLarge)
    await log.publish(ofAda('Later'))
    return { log, db, openDb, place }
  }
  const FIRST = 1n
  const SECOND = 150_002n

  it('halts its partition and says why: the records before it are folded, and the other partitions continue', async () => {
    const { log, db } = await givenUndecodable()
    const metrics = new Registry()
    const lines: string[] = []
    const logger = createLogger('spec', 'error', { write: (line) => void lines.push(line) })
    const { runner, onFailure } = await givenRunner(log, db, { metrics, logger })
    const message = `UndecodableBatchError: The batch at offsets 1 to 150000 of ${log.topic}/${ADA} cannot be decoded: it has 150000 records; the maximum is 100000`
    const halt = { partition: ADA, offset: FIRST, recordId: 'none', code: 'BATCH_UNDECODABLE', message }
    await expect.poll(() => readHalts(db), soon).toEqual([halt])
    await log.publish(ofOthers(20))
    await expect.poll(() => countVisits(db), soon).toBe(51)
    const gauge = await metrics.getSingleMetric('projection_halted')?.get()
    expect(gauge?.values.filter(({ value }) => value === 1)).toMatchObject([{ labels: { partition: ADA } }])
    expect(runner.progress().find(({ partition }) => partition === ADA)?.alarms).toMatchObject([{ kind: 'halted' }])
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { partition: ADA, offset: '1', msg: expect.stringContaining('halted.md') },
    ])
    expect(onFailure).not.toHaveBeenCalled()
  })

  it('becomes one dead letter that describes it once an operator sets it aside, and the partition continues after it', async () => {
    const { log, db, openDb } = await givenUndecodable()
    const { runner } = await givenRunner(log, db)
    await expect.poll(() => readHalts(db), soon).toMatchObject([{ offset: FIRST }])
    await askToSetAside(log, db, FIRST)
    await expect.poll(() => readHalts(db), soon).toMatchObject([{ offset: SECOND }])
    expect(await countVisits(db)).toBe(32)
    // The next owner must not forget the request.
    await runner.stop()
    await askToSetAside(log, db, SECOND)
    const second = await givenRunner(log, openDb())
    await expect.poll(() => countVisits(db), soon).toBe(33)
    expect(second.runner.progress().flatMap(({ alarms }) => alarms)).toEqual([])
    const letters = await db.$queryRaw(
      sql`SELECT "offset", reason, key, value, headers FROM dead_letters ORDER BY "offset"`,
    )
    expect(letters).toMatchObject([
      { offset: FIRST, ...described('1-150000', '150000') },
      { offset: SECOND, ...described('150002-150002', '1') },
    ])
    // A process that begins at a checkpoint after such a batch fetches the batch again.
    await second.runner.stop()
    await log.publish(ofAda('After'))
    const third = await givenRunner(log, openDb())
    await expect.poll(() => countVisits(db), soon).toBe(34)
    expect(third.runner.progress().flatMap(({ alarms }) => alarms)).toEqual([])
  })

  it('can be retried as a dead letter, which stays dead: its records are not stored', async () => {
    const { log, db } = await givenUndecodable()
    await givenRunner(log, db)
    await expect.poll(() => readHalts(db), soon).toMatchObject([{ offset: FIRST }])
    await askToSetAside(log, db, FIRST)
    await expect.poll(() => readHalts(db), soon).toMatchObject([{ offset: SECOND }])
    await askToSetAside(log, db, SECOND)
    await expect.poll(() => countVisits(db), soon).toBe(33)
    await db.$executeRaw(sql`UPDATE dead_letters SET state = 'retry'`)
    const reason = 'content is too large or undecodable: see the header omitted-because'
    await expect
      .poll(() => readLetters(db), soon)
      .toMatchObject([
        { state: 'dead', reason },
        { state: 'dead', reason },
      ])
    expect(await countVisits(db)).toBe(33)
  })
})

it('a record of more than 1 MiB becomes a dead letter without its content, and halts nothing', async () => {
  const log = await givenLog()
  const { db } = await givenVisitsDatabase()
  await givenRunner(log, db)
  const long = { records: 3, value: spaces(2 * 1024 * 1024) }
  await publishCompressed(log.connection, { topic: log.topic, partition: ADA }, long)
  await log.publish(ofAda('Later'))
  await expect.poll(() => countVisits(db), soon).toBe(1)
  const [letter, ...further] = await db.$queryRaw<{ value: Uint8Array; headers: object; reason: string }[]>(
    sql`SELECT value, headers, reason FROM dead_letters ORDER BY "offset"`,
  )
  expect(letter).toMatchObject({
    reason: 'content is too large or undecodable: see the header omitted-because',
    headers: { 'omitted-because': 'the record is larger than 1048576 bytes', 'omitted-bytes': '2097165' },
  })
  expect(letter?.value).toHaveLength(0)
  expect(further).toHaveLength(2)
})

describe('a log that does not fit the checkpoints', () => {
  it('halts the partition whose checkpoint is beyond the end, and no other', async () => {
    const { log, db } = await given()
    await db.$executeRaw(sql`
      INSERT INTO checkpoints (projection, topic, partition, next_offset) VALUES ('visits', ${log.topic}, ${ADA}, 7)`)
    const { onFailure } = await givenRunner(log, db)
    await expect.poll(() => readHalts(db), soon).toMatchObject([{ partition: ADA, code: 'CHECKPOINT_OUTSIDE_LOG' }])
    await expect.poll(() => countVisits(db), soon).toBe(30)
    expect(onFailure).not.toHaveBeenCalled()
  })

  it('halts a partition that was never read and has lost its first records', async () => {
    const { log, db } = await given()
    await deleteRecords(log.connection, log.topic, { partition: ADA, before: 2 })
    await givenRunner(log, db)
    await expect.poll(() => readHalts(db), soon).toMatchObject([{ partition: ADA, code: 'CHECKPOINT_OUTSIDE_LOG' }])
    await expect.poll(() => countVisits(db), soon).toBe(30)
  })

  it('is no longer reported once it fits', async () => {
    const { log, db } = await given()
    await db.$executeRaw(sql`
      INSERT INTO checkpoints (projection, topic, partition, next_offset) VALUES ('visits', ${log.topic}, ${ADA}, 7)`)
    const { runner } = await givenRunner(log, db)
    await expect.poll(() => readHalts(db), soon).toHaveLength(1)
    await runner.stop()
    await log.publish(ofAda('Fourth', 'Fifth', 'Sixth', 'Seventh'))
    await givenRunner(log, db)
    await expect.poll(() => readHalts(db), soon).toEqual([])
  })
})
