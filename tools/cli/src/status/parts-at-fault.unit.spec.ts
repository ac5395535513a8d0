import { describe, expect, it } from 'vitest'
import { partsAtFault } from './parts-at-fault.ts'
import type { Status } from './read-status.ts'

const metering = {
  service: 'metering',
  status: 'available',
  lagRecords: 70_000,
  lagSeconds: 900,
  deadLetters: 3,
  outbox: { records: 0, seconds: 0 },
  alarms: [],
  leftSchemas: [],
} as const
const process = { service: 'metering', processes: 1, hasCatalog: true, catalogProblems: [] } as const
const log = { status: 'available', changedTopics: [], organizations: [], secretKeys: [], services: [process] } as const
const away = { status: 'away', because: 'it does not answer' } as const
const healthy: Status = {
  at: '2026-01-01T00:00:00.000Z',
  log,
  consumers: [metering],
  webhooks: away,
  keyRingFault: null,
}
const alarm = {
  topic: 'user-events',
  partition: 1,
  kind: 'halted',
  offset: '7',
  recordId: null,
  code: 'INVALID',
  message: 'a record',
  since: '2026-01-01T00:00:00.000Z',
  setAsideBy: null,
} as const

describe('partsAtFault', () => {
  it('is empty while consumers lag and have dead letters', () => {
    expect(partsAtFault(healthy)).toEqual([])
  })

  it.each<[string, Partial<Status>, readonly string[]]>([
    ['a log that does not answer', { log: away }, ['log']],
    ['a topic that changed', { log: { ...log, changedTopics: ['user-events has 24 partitions'] } }, ['log']],
    ['a database that does not answer', { consumers: [{ service: 'metering', ...away }] }, ['metering']],
    ['a stopped partition', { consumers: [{ ...metering, alarms: [alarm] }] }, ['metering']],
    ['a consumer without processes', { log: { ...log, services: [] } }, ['metering']],
    ['an old catalog', { log: { ...log, services: [{ ...process, hasCatalog: false }] } }, ['metering']],
    ['keys that cannot be read', { keyRingFault: 'it is not hex' }, ['NEXTVISIT_SECRET_KEY']],
  ])('names %s', (_fault, change, parts) => {
    expect(partsAtFault({ ...healthy, ...change })).toEqual(parts)
  })
})
