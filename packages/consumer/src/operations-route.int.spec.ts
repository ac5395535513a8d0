import { OperationsAnswer } from '@nextvisit/contracts'
import { queryOf } from '@nextvisit/database'
import { expect, it } from 'vitest'
import { givenLetters, givenConsumerDb } from '../test/given-letters.ts'
import { createOperationsRoute } from './operations-route.ts'

it('groups the dead letters that wait by their cause, and shows how far partitions are folded', async () => {
  const db = await givenConsumerDb()
  await givenLetters(db, [
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
  const route = createOperationsRoute({
    projection: 'visits',
    runner: { progress: () => [progress] },
    query: queryOf(db),
  })
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
        causeId: expect.stringMatching(/^c[0-9a-f]+$/),
        dead: 1,
        toRetry: 1,
        oldest: '2026-11-23T03:01:00.000Z',
        newest: '2026-11-23T03:02:00.000Z',
        example: '2',
        lastId: '3',
      },
      {
        cause: 'value is null',
        causeId: expect.stringMatching(/^c[0-9a-f]+$/),
        dead: 1,
        toRetry: 0,
        oldest: '2026-11-23T03:00:00.000Z',
        newest: '2026-11-23T03:00:00.000Z',
        example: '1',
        lastId: '1',
      },
    ],
  })
  const without = await route.handle({ deadLetters: false }, { signal: new AbortController().signal, deadlineAt: 0 })
  expect(without).toMatchObject({ partitions: [{ partition: 3 }], deadLetters: [] })
})
