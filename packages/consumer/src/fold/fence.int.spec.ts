import { type CommitDb, sql, sqlStateOf } from '@nextvisit/database'
import { countRowsRead } from '@nextvisit/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import {
  type Checkpoint,
  createCheckpoint,
  type PartitionCheckpoint,
  readCheckpoint,
  readCheckpoints,
  readNextOffsets,
} from './checkpoint.ts'
import { fence } from './commit.ts'
import type { CheckpointKey } from '../core/tables.ts'

const KEY: CheckpointKey = { projection: 'visits', topic: 'events', partition: 0 }
/** Each differs from {@link KEY} in one part. */
const KEYS = [KEY, { ...KEY, partition: 1 }, { ...KEY, topic: 'others' }, { ...KEY, projection: 'others' }]

let db: CommitDb

beforeEach(async () => {
  db = (await givenVisitsDatabase()).db
  for (const key of KEYS) await createCheckpoint(db, key)
})

async function read(key = KEY): Promise<Checkpoint> {
  const found = await readCheckpoint(db, key)
  if (!found) throw new Error('There is no such checkpoint')
  return found
}

async function move(nextOffset: bigint, { key = KEY, as = {} as Partial<Checkpoint>, recordTime = '' } = {}) {
  const moved = { ...(await read(key)), ...as }
  const checkpoint: PartitionCheckpoint = { key, open: async () => moved, current: () => moved, replace: () => {} }
  await db.executeAll([fence([{ checkpoint, to: { nextOffset, recordTime: recordTime || undefined } }])])
}

async function moveOften(from: bigint): Promise<void> {
  for (let nth = 1n; nth <= 10n; nth += 1n) await move(from + nth)
}

describe('the fence', () => {
  it('moves only the checkpoint that it names', async () => {
    for (const [index, key] of KEYS.entries()) await move(BigInt(index + 1), { key })
    const reversed = await readCheckpoints(db, KEYS.toReversed())
    expect(reversed.map((checkpoint) => checkpoint?.nextOffset)).toEqual([4n, 3n, 2n, 1n])
    expect(await readNextOffsets(db, 'visits', 'events')).toEqual(
      new Map([
        [0, 1n],
        [1, 2n],
      ]),
    )
  })

  it('looks its checkpoint up by key, even with a plan from a time with few rows', async () => {
    await db.$executeRaw(sql`ANALYZE checkpoints`)
    await moveOften(0n)
    await db.$executeRaw(sql`
      INSERT INTO checkpoints SELECT (jsonb_populate_record(one, jsonb_build_object('partition', other))).*
      FROM (SELECT checkpoints AS one FROM checkpoints LIMIT 1) AS known, generate_series(100, 1100) AS other`)
    expect(await countRowsRead(db, ['checkpoints'], () => moveOften(10n))).toBeLessThan(100)
  })

  it.each([
    ['was moved since', 6n, -1n],
    ['was read in another table, where it was further', 6n, 1n],
    ['would go back', 4n, 0n],
  ])('refuses a checkpoint that %s', async (_what, nextOffset, ahead) => {
    await move(5n)
    const { version } = await read()
    const moving = move(nextOffset, { as: { version: version + ahead } })
    await expect(moving.catch(sqlStateOf)).resolves.toBe('NV001')
    expect(await read()).toMatchObject({ nextOffset: 5n, version })
  })

  it('keeps the time of the last record if it passes none', async () => {
    const [first, second] = ['2026-11-02T10:00:00.000Z', '2026-11-02T10:00:01.000Z']
    await move(1n, { recordTime: first })
    await move(1n)
    expect((await read()).recordTime).toBe(first)
    await move(2n, { recordTime: second })
    expect((await read()).recordTime).toBe(second)
  })
})
