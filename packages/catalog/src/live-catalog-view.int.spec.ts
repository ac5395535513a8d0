import { randomUUID } from 'node:crypto'
import { encodeRecord } from '@nextvisit/contracts'
import { createPublisher, type LogConnection, withLogAdmin } from '@nextvisit/log'
import { createTestTopic, startFaultProxy } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { createCatalogView } from './live-catalog-view.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} }

it("a catalog view reads the log's end over one connection, and over a new one after a cut", async () => {
  const { connection, topic } = await createTestTopic(inject('kafkaBrokers'))
  const { proxy, connection: proxied } = await startFaultProxy(connection)
  onTestFinished(() => proxy.stop())
  let opened = 0
  const addressFor: LogConnection['addressFor'] = () => {
    opened += 1
    return proxied.addressFor()
  }
  const options = { serviceName: 'spec', logger: silent, topic, currentEveryMs: 1 }
  const view = createCatalogView({ ...connection, addressFor }, options)
  await view.start()
  onTestFinished(view.stop)
  const becomesCurrent = async (times: number): Promise<void> => {
    for (let seen = 0; seen < times; seen += 1) {
      const before = view.currentAsOfMs()
      await vi.waitFor(() => expect(view.currentAsOfMs()).toBeGreaterThan(before), { timeout: 30_000, interval: 1 })
    }
  }
  await becomesCurrent(5)
  const openedAtFirst = opened
  await becomesCurrent(20)
  expect(opened - openedAtFirst).toBeLessThan(10)
  proxy.cutAll()
  await becomesCurrent(2)
  expect(opened).toBeGreaterThan(openedAtFirst)
})

it.each(['gzip', 'snappy', 'lz4', 'zstd'])(
  'reads a catalog that the broker compresses with %s',
  async (compression) => {
    const connection = { brokers: inject('kafkaBrokers').split(','), clientId: 'spec' }
    const topic = `catalog.${randomUUID()}`
    const settings = { partitions: 1, config: { 'compression.type': compression } }
    await withLogAdmin(connection, (admin) => admin.createTopic(topic, settings))
    const publisher = createPublisher(connection)
    await publisher.start()
    onTestFinished(() => publisher.stop(1_000))
    const id = randomUUID()
    const config = { id: 'acme', projects: [{ id: 'shop' }] }
    const fact = { type: 'OrganizationConfigured', id, organization: 'acme', revision: 1, config }
    const record = { key: `acme/1/${id}`, ...encodeRecord(fact, { source: 'cli', time: new Date().toISOString() }) }
    // The broker loads the codec's library first, which can take longer than a publisher waits.
    await vi.waitFor(
      async () => {
        const deadlineAt = performance.now() + 30_000
        const { outcome } = await publisher.publish({ topic, partition: 0, ...record }, deadlineAt)
        expect(outcome).toBe('published')
      },
      { timeout: 60_000 },
    )
    const view = createCatalogView(connection, { serviceName: 'spec', logger: silent, topic })
    onTestFinished(view.stop)
    await view.start()
    expect(view.project('acme', 'shop')).toMatchObject({ project: 'shop', revision: 1 })
  },
)
