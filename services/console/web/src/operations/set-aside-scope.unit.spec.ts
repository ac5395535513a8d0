import { expect, it } from 'vitest'
import type { PartitionLine } from '../../../src/operations/api.ts'
import { setAsideScopeOf } from './set-aside-scope.ts'

const PARTITION = 3
const healthy: PartitionLine = {
  partition: PARTITION,
  owner: '127.0.0.1:8090',
  checkpoint: null,
  lagRecords: 0,
  lagSeconds: 0,
  alarms: [],
}
const at = (service: string, checkpoint: string | null, haltedAt?: string, topic = 'user-events') => {
  const halt = { kind: 'halted', recordId: 'none', code: 'BATCH_UNDECODABLE', message: null } as const
  const since = '2026-11-22T07:40:11.000Z'
  const alarms = haltedAt === undefined ? [] : [{ ...halt, offset: haltedAt, since, canSetAside: true }]
  return {
    service,
    topic,
    partitions: [
      { ...healthy, partition: 0 },
      { ...healthy, checkpoint, alarms },
    ],
  }
}

it('a batch is set aside in the consumers that it halts, and those that have not passed it are named', () => {
  const consumers = [
    at('user-projector', '1704', '1704'),
    at('metering', '1704', '1704'),
    at('trait-registry', '999'),
    // The halt at this offset is not reported yet.
    at('form-trigger-evaluator', '1704'),
    at('user-eraser', '7', '1704', 'erasures'),
  ]
  const scope = setAsideScopeOf(consumers, { service: 'metering', partition: PARTITION, offset: '1704' })
  expect(scope).toEqual({
    services: ['metering', 'user-projector'],
    behind: [
      { service: 'trait-registry', checkpoint: '999' },
      { service: 'form-trigger-evaluator', checkpoint: '1704' },
    ],
  })
})

it('a consumer that is halted before the batch or has no owner may meet it later, and one that has passed it does not', () => {
  const consumers = [at('metering', '1704', '1704'), at('one', '1700', '1700'), at('two', null), at('three', '1705')]
  const scope = setAsideScopeOf(consumers, { service: 'metering', partition: PARTITION, offset: '1704' })
  expect(scope).toEqual({
    services: ['metering'],
    behind: [
      { service: 'one', checkpoint: '1700' },
      { service: 'two', checkpoint: null },
    ],
  })
})
