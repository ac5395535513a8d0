import type { PartitionStatus } from '@nextvisit/contracts'
import { expect, it } from 'vitest'
import { consumerOperationsOf } from './consumer-operations.ts'

const SINCE = '2026-11-23T03:00:00.000Z'

function owned(partition: number, alarms: PartitionStatus['alarms'] = []): PartitionStatus {
  return { topic: 'user-events', partition, nextOffset: '7', lagRecords: 2, lagSeconds: 1.5, alarms }
}

it('the operations of a consumer name the owner of each partition, and partitions without one', () => {
  const { partitions, ...rest } = consumerOperationsOf({
    service: 'metering',
    processes: [
      { url: 'http://one:1', answer: { partitions: [owned(1)] } },
      { url: 'http://two:2', answer: { partitions: [owned(2)] } },
      { url: 'http://gone:3', answer: undefined },
    ],
    deadLetters: [],
    partitionCount: 3,
    withMessages: true,
  })
  expect(rest).toEqual({
    service: 'metering',
    topic: 'user-events',
    processes: 3,
    silent: ['gone:3'],
    deadLetters: [],
  })
  expect(partitions.map(({ partition, owner, checkpoint }) => [partition, owner, checkpoint])).toEqual([
    [0, null, null],
    [1, 'one:1', '7'],
    [2, 'two:2', '7'],
  ])
})

it('the operations of a consumer include messages of errors only on request: they may quote personal data', () => {
  const alarm = {
    kind: 'halted',
    offset: '7',
    recordId: null,
    canSetAside: false,
    code: 'FOLD_FAILED',
    message: 'ada',
    since: SINCE,
  } as const
  const messages = (withMessages: boolean) =>
    consumerOperationsOf({
      service: 'metering',
      processes: [{ url: 'http://one:1', answer: { partitions: [owned(0, [alarm])] } }],
      deadLetters: undefined,
      partitionCount: 1,
      withMessages,
    }).partitions.flatMap(({ alarms }) => alarms.map(({ message }) => message))
  expect(messages(true)).toEqual(['ada'])
  expect(messages(false)).toEqual([null])
})

it('the operations of a consumer include partitions if dead letters were not counted in time', () => {
  const { partitions, deadLetters } = consumerOperationsOf({
    service: 'metering',
    processes: [{ url: 'http://one:1', answer: { partitions: [owned(0)] } }],
    deadLetters: undefined,
    partitionCount: 1,
    withMessages: true,
  })
  expect(deadLetters).toBeNull()
  expect(partitions).toMatchObject([{ owner: 'one:1' }])
})

it('the user eraser folds one partition, of its own topic', () => {
  const { topic, partitions } = consumerOperationsOf({
    service: 'user-eraser',
    processes: [],
    deadLetters: [],
    partitionCount: 12,
    withMessages: true,
  })
  expect([topic, partitions.length]).toEqual(['erasures', 1])
})
