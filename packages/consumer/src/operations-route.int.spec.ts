import { OperationsAnswer } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { createMetrics } from '@nextvisit/service-kit'
import { createTestDatabase } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished } from 'vitest'
import { visitsConsumer } from '../test/visits-consumer.ts'
import { openPools } from './open-pools.ts'
import { createOperationsRoute } from './operations-route.ts'

async function givenDb(): Promise<Db> {
  const consumer = visitsConsumer()
  const database = await createTestDatabase(inject('databaseUrl'), consumer)
  const metrics = createMetrics('spec')
  const pools = await openPools(consumer, { databaseUrl: database.url, clientId: 'spec', metrics })
  onTestFinished(async () => {
    await Promise.all(Object.values(pools).map((db: Db) => db.$disconnect()))
    await database.drop()
  })
  return pools.readDb
}

/** Dead letters of `visits` at offsets 0, 1, 2, …, a minute apart. */
async function givenLetters(db: Db, letters: readonly { readonly reason: string; readonly state: string }[]) {
  for (const [offset, { reason, state }] of letters.entries()) {
    const recordTime = new Date(Date.UTC(2026, 10, 23, 3, offset))
    await db.$executeRaw(sql`
      INSERT INTO dead_letters (projection, topic, partition, "offset", headers, record_time, reason, service_version, state)
      VALUES ('visits', 'user-events', 0, ${offset}::bigint, '{}', ${recordTime}::timestamptz, ${reason}, '0', ${state})`)
  }
}

it('groups the dead letters that wait by their cause, and shows how far partitions are folded', async () => {
  const readDb = await givenDb()
  await givenLetters(readDb, [
    { reason: 'value is null', state: 'dead' },
    { reason: 'value is not JSON', state: 'dead' },
    { reason: 'value is not JSON', state: 'retry' },
    { reason: 'value is not JSON', state: 'retried' },
    { reason: 'type is unknown', state: 'discarded' },
  ])
  const halted = { kind: 'halted', offset: 7n, code: 'FOLD_FAILED', message: 'a bug', sinceMs: 0 } as const
  const progress = {
    topic: 'user-events',
    partition: 3,
    nextOffset: 7n,
    lagRecords: 2n,
    lagSeconds: 1.5,
    stalledMs: 0,
    hangsMs: 0,
    ticksFailMs: 0,
    alarms: [halted],
  }
  const route = createOperationsRoute({ projection: 'visits', runner: { progress: () => [progress] }, readDb })
  const answer = await route.handle({ deadLetters: true }, { signal: new AbortController().signal, deadlineAt: 0 })
  expect(OperationsAnswer.parse(answer)).toEqual({
    partitions: [
      {
        topic: 'user-events',
        partition: 3,
        nextOffset: '7',
        lagRecords: 2,
        lagSeconds: 1.5,
        alarms: [
          {
            kind: 'halted',
            offset: '7',
            recordId: null,
            code: 'FOLD_FAILED',
            message: 'a bug',
            since: '1970-01-01T00:00:00.000Z',
          },
        ],
      },
    ],
    deadLetters: [
      {
        cause: 'value is not JSON',
        dead: 1,
        toRetry: 1,
        oldest: '2026-11-23T03:01:00.000Z',
        newest: '2026-11-23T03:02:00.000Z',
        example: '2',
      },
      {
        cause: 'value is null',
        dead: 1,
        toRetry: 0,
        oldest: '2026-11-23T03:00:00.000Z',
        newest: '2026-11-23T03:00:00.000Z',
        example: '1',
      },
    ],
  })
  const without = await route.handle({ deadLetters: false }, { signal: new AbortController().signal, deadlineAt: 0 })
  expect(without).toMatchObject({ partitions: [{ partition: 3 }], deadLetters: [] })
})
