import { randomUUID } from 'node:crypto'
import { eventTracked, identifyRequested, userIdFixture } from '@nextvisit/contracts/fixtures'
import { type CommitDb, sql } from '@nextvisit/database'
import { createDataKey } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { batchOf, factsAsRecords, interceptCommits, TEST_SECRET_KEY, testKeyOf, testKeyRing } from '@nextvisit/testing'
import { partitionForKey } from '@nextvisit/log'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  createOpeningProjection,
  type GivenKeys,
  givenKeys,
  givenOpeningFold,
  readPosition,
} from '../../test/given-keys.ts'
import { givenLog, type GivenLog, PARTITIONS, recreateTopic } from '../../test/given-log.ts'
import { givenRunner } from '../../test/given-runner.ts'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import { readVisits } from '../../test/visits-projection.ts'

const [ada, bob, cleo] = ['ada', 'bob', 'cleo'].map((name) => userIdFixture(name)) as [string, string, string]
const OTHER_SECRET_KEY = '6f74686572'.padEnd(64, '0')

let db: CommitDb
let openDb: () => CommitDb
let log: GivenLog
let keys: GivenKeys

beforeEach(async () => {
  ;({ db, openDb } = await givenVisitsDatabase())
  log = await givenLog()
  keys = await givenKeys(log)
})

/** Returns the partition of a user whose records are spread. */
function partitionOf(userId: string): number {
  return partitionForKey(userId, PARTITIONS)
}

/** Returns the next records of partition 0. */
function batchFrom(offset: bigint, ...facts: Parameters<typeof factsAsRecords>[0]) {
  const records = factsAsRecords(facts).map((record) => ({ ...record, offset: record.offset + offset }))
  return { ...batchOf(records), fetchedFrom: offset, nextOffset: offset + BigInt(records.length) }
}

async function readNames(from = db): Promise<readonly string[]> {
  const rows = (await readVisits(from)) as { lastEvent?: string; last_event: string }[]
  return rows.map((row) => row.last_event).toSorted()
}

async function readKeys(): Promise<readonly string[]> {
  const rows = await db.$queryRaw<{ user_id: string }[]>(sql`SELECT user_id FROM user_keys`)
  return rows.map((row) => row.user_id)
}

function wanted(userId: string, partition = 0) {
  const keyId = testKeyOf(userId).key.id
  return new Map([[`${userId}/${keyId}`, { partition, userId, keyId }]])
}

/** Counts the queries of a database for keys and for their checkpoints. */
function countingQueries(counted: CommitDb) {
  const queries = { keys: 0 }
  const counting: CommitDb = {
    ...counted,
    $queryRaw: (query) => {
      if (/user_keys|checkpoints/.test(query.sql)) queries.keys += 1
      return counted.$queryRaw(query)
    },
  }
  return { counting, queries }
}

describe('a sealed record', () => {
  it('is opened with a key that arrives after the last reading, and later without any query', async () => {
    const { counting, queries } = countingQueries(db)
    const fold = await givenOpeningFold(counting, keys.open())
    await keys.publish(ada)
    await fold.fold(batchFrom(0n, identifyRequested()))
    await keys.publish(bob)
    await fold.fold(batchFrom(1n, identifyRequested({ userName: 'bob' })))
    expect(await readNames()).toEqual(['ada', 'bob'])
    const before = queries.keys
    await fold.fold(batchFrom(2n, identifyRequested(), identifyRequested({ userName: 'bob' })))
    expect(queries.keys).toBe(before)
  })

  it('of which the table has the key needs no topic', async () => {
    await keys.publish(ada)
    await keys.open().pull(db, [0])
    const fold = await givenOpeningFold(db, keys.open({ topic: 'not-there' }))
    await fold.fold(batchFrom(0n, identifyRequested()))
    expect(await readNames()).toEqual(['ada'])
  })

  it('folds without effect if its key is destroyed, and its duplicate is dropped as before', async () => {
    let erased = 0
    const fold = await givenOpeningFold(db, keys.open(), (count) => (erased += count))
    await keys.publish(ada, bob)
    await keys.destroy(ada)
    const keyed = identifyRequested({ keyed: true })
    const outcome = await fold.fold(batchFrom(0n, keyed, identifyRequested({ userName: 'bob' }), keyed))
    expect(outcome).toEqual({ outcome: 'folded', records: 2, deadLetters: 0, duplicates: 1 })
    expect([await readNames(), fold.checkpoint().nextOffset, erased]).toEqual([['bob'], 3n, 2])
    expect(await readKeys()).toEqual([bob])
  })

  it('keeps the members that need no key if the projection does not open it', async () => {
    const fold = await givenOpeningFold(db, keys.open())
    const outcome = await fold.fold(batchFrom(0n, eventTracked({ eventName: 'Opened', properties: { total: 1 } })))
    expect([outcome, await readNames()]).toMatchObject([{ records: 1 }, ['opened']])
  })

  it('of a destroyed key is opened again once the key is published again', async () => {
    await keys.publish(ada)
    await keys.destroy(ada)
    const fold = await givenOpeningFold(db, keys.open())
    await fold.fold(batchFrom(0n, identifyRequested()))
    expect(await readNames()).toEqual([])
    await keys.publish(ada)
    await fold.fold(batchFrom(1n, identifyRequested()))
    expect(await readNames()).toEqual(['ada'])
  })

  it('of an erased user stays closed if its key is published again, and the key is not stored', async () => {
    await db.$executeRaw(sql`
      INSERT INTO erased_users (organization, project, user_id, partition, "offset", keys_until, erasure_id)
      VALUES ('acme', 'shop', ${ada}::uuid, 0, 0, now() + interval '1 day', ${randomUUID()}::uuid)`)
    const fold = await givenOpeningFold(db, keys.open())
    await keys.publish(ada, bob)
    await fold.fold(batchFrom(0n, identifyRequested(), identifyRequested({ userName: 'bob' })))
    expect([await readNames(), await readKeys()]).toEqual([['bob'], [bob]])
  })

  it('is a dead letter if it was changed, or its key was', async () => {
    const fold = await givenOpeningFold(db, keys.open())
    await keys.publish(ada)
    await keys.publish({ key: `${bob}/${testKeyOf(bob).key.id}`, value: testKeyOf(ada).wrapped.wrapped })
    const batch = batchFrom(0n, identifyRequested(), identifyRequested({ userName: 'bob' }))
    const [first, ...others] = batch.records
    const changed = Buffer.from(String(first?.value).replace(/"id":"[^"]*"/, `"id":"${randomUUID()}"`))
    await fold.fold({ ...batch, records: [{ ...first, value: changed } as (typeof others)[0], ...others] })
    const letters = await db.$queryRaw<{ reason: string }[]>(sql`SELECT reason FROM dead_letters ORDER BY "offset"`)
    expect(letters.map(({ reason }) => reason)).toEqual([
      'sealed: is damaged, or belongs to another record',
      'sealed: its data key is damaged',
    ])
  })

  it('that is a dead letter is opened at its retry', async () => {
    await keys.publish({ key: `${bob}/${testKeyOf(bob).key.id}`, value: testKeyOf(ada).wrapped.wrapped })
    const fold = await givenOpeningFold(db, keys.open())
    await fold.fold(batchFrom(0n, identifyRequested({ userName: 'bob' })))
    await keys.publish(bob)
    await db.$executeRaw(sql`UPDATE dead_letters SET state = 'retry'`)
    await keys.open().pull(db, [0])
    const restarted = await givenOpeningFold(db, keys.open())
    expect(await restarted.retry()).toMatchObject({ records: 1, deadLetters: 0 })
    expect(await readNames()).toEqual(['bob'])
  })
})

describe('a sealed record waits', () => {
  it('for a secret key that the process lacks, and the records before it are folded', async () => {
    const { wrapped } = createDataKey(givenKeyRing(OTHER_SECRET_KEY), bob, Date.now())
    // The records of bob name this key.
    const named = { ...wrapped, keyId: testKeyOf(bob).key.id }
    await keys.publish(ada, { key: `${bob}/${named.keyId}`, value: named.wrapped })
    const fold = await givenOpeningFold(db, keys.open())
    const batch = batchFrom(0n, identifyRequested(), identifyRequested({ userName: 'bob' }), identifyRequested())
    expect(await fold.fold(batch)).toMatchObject({ records: 1 })
    await expect(fold.fold(batch)).rejects.toMatchObject({
      code: 'SECRET_KEY_MISSING',
      retryable: true,
      message: expect.stringContaining(givenKeyRing(OTHER_SECRET_KEY).newestKeyId),
    })
    expect([await readNames(), fold.checkpoint().nextOffset]).toEqual([['ada'], 1n])
    expect(await db.$queryRaw(sql`SELECT FROM dead_letters`)).toEqual([])
  })

  it('for no secret key of an earlier value: a rotation has published the key again', async () => {
    const other = createDataKey(givenKeyRing(OTHER_SECRET_KEY), ada, Date.now()).wrapped.wrapped
    await keys.publish({ key: `${ada}/${testKeyOf(ada).key.id}`, value: other })
    await keys.open().pull(db, [0])
    await keys.publish(ada)
    const fold = await givenOpeningFold(db, keys.open())
    await fold.fold(batchFrom(0n, identifyRequested()))
    expect(await readNames()).toEqual(['ada'])
  })

  it('is opened by a key that an older secret key wraps', async () => {
    await keys.publish(ada)
    const fold = await givenOpeningFold(db, keys.open({ ring: givenKeyRing(OTHER_SECRET_KEY, TEST_SECRET_KEY) }))
    await fold.fold(batchFrom(0n, identifyRequested()))
    expect(await readNames()).toEqual(['ada'])
  })

  it('for a topic that cannot be read, which halts nothing', async () => {
    const fold = await givenOpeningFold(db, keys.open({ topic: 'not-there' }))
    const failed = fold.fold(batchFrom(0n, identifyRequested(), identifyRequested()))
    await expect(failed).rejects.toMatchObject({ code: 'USER_KEYS_UNREADABLE', retryable: true })
    expect(fold.checkpoint().nextOffset).toBe(0n)
  })
})

describe('a topic of keys that was created again', () => {
  it.each([
    ['has grown past the checkpoint', [ada, bob, cleo], /the checkpoint is 2.*This is another log.*restored\.md/],
    ['ends before the checkpoint', [ada], /the checkpoint is 2, but the log holds 0 to 1/],
    ['is empty', [], /Position 1 of .* is not in the log/],
  ])('and %s makes records and pulls wait, and destroys no key', async (_, again, message) => {
    await keys.publish(ada, bob)
    await keys.open().pull(db, [0])
    await recreateTopic({ ...log, topic: keys.topic })
    await keys.publish(...again)
    const fold = await givenOpeningFold(db, keys.open())
    const failed = fold.fold(batchFrom(0n, identifyRequested({ userName: 'cleo' })))
    await expect(failed).rejects.toMatchObject({
      code: 'USER_KEYS_UNREADABLE',
      retryable: true,
      message: expect.stringMatching(message),
    })
    await expect(keys.open().pull(db, [0])).rejects.toMatchObject({ code: 'USER_KEYS_UNREADABLE' })
    expect([fold.checkpoint().nextOffset, await readPosition(db, keys)]).toEqual([0n, 2n])
    expect((await readKeys()).toSorted()).toEqual([ada, bob].toSorted())
  })
})

describe('the keys of a partition', () => {
  it('are read in commits of 2,000, again and again until all are read, and the record is not erased meanwhile', async () => {
    const others = Array.from({ length: 10_000 }, () => {
      const { wrapped } = createDataKey(testKeyRing, randomUUID(), Date.now())
      return { key: `${wrapped.userId}/${wrapped.keyId}`, value: wrapped.wrapped }
    })
    await keys.publish(...others, ada)
    const fold = await givenOpeningFold(db, keys.open({ pullWithinMs: 0 }))
    const batch = batchFrom(0n, identifyRequested())
    const messages: string[] = []
    for (let attempts = 0; attempts < 100 && fold.checkpoint().nextOffset === 0n; attempts += 1)
      await fold.fold(batch).catch((error: Error) => messages.push(error.message))
    expect(messages.length).toBeGreaterThan(1)
    expect(messages.at(-1)).toMatch(/\/0 is read up to \d+ of 10001\. Reading continues\./)
    expect(await readNames()).toEqual(['ada'])
    expect(await db.$queryRaw(sql`SELECT count(*)::int AS keys FROM user_keys`)).toEqual([{ keys: 10_001 }])
    expect(await readPosition(db, keys)).toBe(10_001n)
  })

  it('are not written by an owner that was overtaken, so that a destroyed key does not come back', async () => {
    await keys.publish(ada, bob)
    let isFirst = true
    const overtaken = interceptCommits(openDb(), async (commit) => {
      if (isFirst) {
        isFirst = false
        await keys.destroy(ada)
        await keys.open().pull(db, [0])
      }
      await commit()
    })
    await keys.open().pull(overtaken, [0])
    expect(isFirst).toBe(false)
    expect(await readKeys()).toEqual([bob])
    expect(await readPosition(db, keys)).toBe(3n)
  })

  it('leave memory when another owner has destroyed them', async () => {
    await keys.publish(ada)
    const own = keys.open()
    const fold = await givenOpeningFold(db, own)
    await fold.fold(batchFrom(0n, identifyRequested()))
    await keys.destroy(ada)
    await keys.open().pull(db, [0])
    await own.pull(db, [0])
    await fold.fold(batchFrom(1n, identifyRequested()))
    expect(await db.$queryRaw(sql`SELECT count FROM visits WHERE user_id = ${ada}::uuid`)).toEqual([{ count: 1 }])
  })

  it('leave memory when their partition is lost, and do not return with work that was in flight', async () => {
    await keys.publish(ada)
    const own = keys.open()
    own.keepOnly([0, 1])
    await own.find(db, wanted(ada))
    own.keepOnly([1])
    expect((await own.find(db, wanted(ada))).size).toBe(1)
    await keys.destroy(ada)
    await keys.open().pull(db, [0])
    expect((await own.find(db, wanted(ada))).size).toBe(0)
  })

  it('do not enter memory if they are destroyed while their rows are read', async () => {
    await keys.publish(ada)
    await keys.open().pull(db, [0])
    const own = keys.open()
    let isFirst = true
    const slow: CommitDb = {
      ...db,
      $queryRaw: async <T>(query: Parameters<CommitDb['$queryRaw']>[0]) => {
        const rows = await db.$queryRaw<T>(query)
        if (isFirst && query.sql.includes('user_keys')) {
          isFirst = false
          await keys.destroy(ada)
          await own.pull(db, [0])
        }
        return rows
      },
    }
    expect((await own.find(slow, wanted(ada))).size).toBe(1)
    expect((await own.find(db, wanted(ada))).size).toBe(0)
  })

  it('are read beside records of other programs, which are ignored', async () => {
    await keys.publish({ key: 'ada', value: 'x' }, { key: `${ada}/${randomUUID()}`, value: 'no key' }, ada)
    await keys.publish({ key: `${randomUUID()}/${randomUUID()}`, value: null })
    await keys.open().pull(db, [0])
    expect([await readKeys(), await readPosition(db, keys)]).toEqual([[ada], 4n])
  })

  it('of several readers at once are all found', async () => {
    await keys.publish(ada, bob, cleo)
    const own = keys.open()
    const found = await Promise.all([ada, bob, cleo].map((userId) => own.find(db, wanted(userId))))
    expect(found.map(({ size }) => size)).toEqual([1, 1, 1])
  })
})

describe('a running consumer of sealed records', () => {
  const soon = { timeout: 30_000 }

  it('forgets a destroyed key within seconds, although no record needs it', async () => {
    const ofUsers = await givenKeys({ ...log, topic: `${log.topic}.users` }, partitionOf)
    await ofUsers.publish(ada, bob)
    await log.publish([identifyRequested(), identifyRequested({ userName: 'bob' })])
    await givenRunner(log, db, { projection: createOpeningProjection(log.topic), userKeys: ofUsers.open() })
    await expect.poll(() => readNames(), soon).toEqual(['ada', 'bob'])
    await ofUsers.destroy(ada)
    await expect.poll(() => readKeys(), soon).toEqual([bob])
  })

  it('forgets the keys of a partition that it loses', async () => {
    const ofUsers = await givenKeys({ ...log, topic: `${log.topic}.users` }, partitionOf)
    const names = Array.from({ length: 20 }, (_, index) => `user-${index}`)
    await ofUsers.publish(...names.map((name) => userIdFixture(name)))
    await log.publish(names.map((userName) => identifyRequested({ userName })))
    const projection = createOpeningProjection(log.topic)
    const userKeys = ofUsers.open()
    const { runner } = await givenRunner(log, db, { projection, userKeys })
    await expect.poll(async () => (await readNames()).length, soon).toBe(names.length)
    await givenRunner(log, openDb(), { projection, userKeys: ofUsers.open() })
    const findLost = () => names.map((name) => userIdFixture(name)).find((userId) => !runner.owns(partitionOf(userId)))
    await expect.poll(findLost, soon).toBeDefined()
    const lost = findLost() as string
    await ofUsers.destroy(lost)
    await expect.poll(() => readKeys(), soon).not.toContain(lost)
    expect((await userKeys.find(db, wanted(lost, partitionOf(lost)))).size).toBe(0)
  })

  it('reports a topic of keys that it cannot read as a stall', async () => {
    let aheadMs = 0
    await log.publish([identifyRequested()])
    const { runner } = await givenRunner(log, db, {
      projection: createOpeningProjection(log.topic),
      userKeys: keys.open({ topic: 'not-there' }),
      now: () => new Date(Date.now() + aheadMs),
    })
    const alarmsLater = () => {
      aheadMs += 30_000
      return runner.progress().flatMap(({ alarms }) => alarms)
    }
    const stall = expect.objectContaining({ kind: 'stalled', code: 'USER_KEYS_UNREADABLE' })
    await expect.poll(alarmsLater, soon).toContainEqual(stall)
    expect(alarmsLater().filter(({ kind }) => kind === 'halted')).toEqual([])
  })
})
