import { randomUUID } from 'node:crypto'
import { encodeRecord } from '@nextvisit/contracts'
import { createPublisher } from '@nextvisit/log'
import { createTestTopic, startFaultProxy } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished } from 'vitest'
import { createChangeLog } from './change-log.ts'
import { readChanges } from './read-changes.ts'
import type { WantedChange } from './wanted-change.ts'

const AUTHOR = { actor: { kind: 'command', name: 'ada', isVerified: false, via: 'ada@ops-1' } } as const

async function givenLog() {
  const { connection, topic } = await createTestTopic(inject('kafkaBrokers'))
  const log = createChangeLog(connection, { source: 'cli', topic })
  onTestFinished(log.stop)
  const made = (wanted: Partial<WantedChange> = {}) =>
    log.record(
      AUTHOR,
      [{ kind: 'webhook.test', organization: 'acme', project: 'shop', ...wanted }],
      async () => {},
      () => ({ outcome: 'made' }),
    )
  return { connection, topic, made }
}

/** Publishes records of changes without an end, which nobody has made. */
async function publishMany({ connection, topic }: Awaited<ReturnType<typeof givenLog>>, count: number): Promise<void> {
  const publisher = createPublisher(connection)
  await publisher.start()
  onTestFinished(() => publisher.stop(1_000))
  const at = '2026-11-28T10:00:00.000Z'
  await Promise.all(
    Array.from({ length: count }, (_, nth) => {
      const about = { kind: 'webhook.retry', ...AUTHOR, target: `crm-${nth}` } as const
      const record = encodeRecord({ type: 'ChangeRequested', id: randomUUID(), at, ...about } as never, {
        source: 'cli',
        time: at,
      })
      return publisher.publish({ topic, partition: 0, key: 'acme', ...record }, performance.now() + 20_000)
    }),
  )
}

it('changes are read in pages, newest first, until there are no older ones', async () => {
  const log = await givenLog()
  for (const nth of [1, 2, 3, 4, 5]) await log.made({ target: `crm-${nth}` })
  const targets: (string | null)[][] = []
  let before: string | undefined
  for (;;) {
    const page = await readChanges(log.connection, { limit: 2, before }, log.topic)
    expect(page.changes.every(({ outcome }) => outcome === 'made')).toBe(true)
    targets.push(page.changes.map(({ target }) => target))
    if (page.older === null) break
    before = page.older
  }
  expect(targets).toEqual([['crm-5', 'crm-4'], ['crm-3', 'crm-2'], ['crm-1']])
})

it('a page of a filter that matches nothing reads a bounded number of records, and says how far it looked', async () => {
  const log = await givenLog()
  await log.made({ target: 'oldest' })
  // A publisher queues at most 5,000.
  await publishMany(log, 2_550)
  await publishMany(log, 2_550)
  const first = await readChanges(log.connection, { limit: 50, kind: 'webhook.test' }, log.topic)
  expect(first).toMatchObject({ changes: [], lookedBackTo: '2026-11-28T10:00:00.000Z', older: '102' })
  const second = await readChanges(log.connection, { limit: 50, kind: 'webhook.test', before: '102' }, log.topic)
  expect(second).toMatchObject({ changes: [{ target: 'oldest', outcome: 'made' }], older: null })
})

it('a record that this version does not understand is counted, and hides no other', async () => {
  const log = await givenLog()
  await log.made({ target: 'crm' })
  const publisher = createPublisher(log.connection)
  await publisher.start()
  onTestFinished(() => publisher.stop(1_000))
  const newer = encodeRecord({ type: 'ChangeRequested', id: randomUUID() }, { source: 'cli', time: '2030' })
  const headers = { ...newer.headers, 'schema-version': '9' }
  await publisher.publish(
    { topic: log.topic, partition: 0, key: '', value: newer.value, headers },
    performance.now() + 9_000,
  )
  expect(await readChanges(log.connection, { limit: 9 }, log.topic)).toMatchObject({
    unreadable: 1,
    changes: [{ target: 'crm' }],
  })
})

it('an empty log has no changes', async () => {
  const { connection, topic } = await givenLog()
  const empty = { changes: [], older: null, lookedBackTo: null, unreadable: 0 }
  expect(await readChanges(connection, { limit: 9 }, topic)).toEqual(empty)
})

it('nothing is done while Kafka is unavailable, and the next change is made once it is back', async () => {
  const { connection, topic } = await createTestTopic(inject('kafkaBrokers'))
  const { proxy, connection: proxied } = await startFaultProxy(connection)
  onTestFinished(() => proxy.stop())
  const log = createChangeLog(proxied, { source: 'console', topic })
  onTestFinished(log.stop)
  let made = 0
  const make = () =>
    log.record(
      AUTHOR,
      [{ kind: 'webhook.enable' }],
      async () => (made += 1),
      () => ({ outcome: 'made' }),
    )
  expect(await make()).toEqual({ outcome: 'recorded', result: 1 })
  proxy.setLink('refuse')
  expect(await make()).toEqual({ outcome: 'not-recorded' })
  expect(made).toBe(1)
  proxy.setLink('open')
  await expect.poll(make, { timeout: 20_000 }).toEqual({ outcome: 'recorded', result: 2 })
})
