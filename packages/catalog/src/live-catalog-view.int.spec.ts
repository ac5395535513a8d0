import { randomUUID } from 'node:crypto'
import { encodeRecord } from '@nextvisit/contracts'
import { createPublisher, type LogConnection, withLogAdmin } from '@nextvisit/log'
import { publishCompressed } from '@nextvisit/log/test/publish-compressed.ts'
import { createTestTopic, startFaultProxy } from '@nextvisit/testing'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { describeProblem } from './catalog-view.ts'
import { nextRevision } from './fold-catalog.ts'
import { createCatalogView } from './live-catalog-view.ts'
import { readCatalog } from './read-catalog.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} }

/** Publishes a revision of an organization with one project. */
async function publishRevision(connection: LogConnection, topic: string, organization: string, revision: number) {
  const publisher = createPublisher(connection)
  await publisher.start()
  const id = randomUUID()
  const config = { id: organization, projects: [{ id: 'shop' }] }
  const fact = { type: 'OrganizationConfigured', id, organization, revision, config }
  const own = encodeRecord(fact, { source: 'cli', time: new Date().toISOString() })
  const record = { topic, partition: 0, key: `${organization}/${revision}/${id}`, ...own }
  // The broker loads the codec's library first, which can take longer than a publisher waits.
  await vi.waitFor(
    async () => {
      const { outcome } = await publisher.publish(record, performance.now() + 30_000)
      expect(outcome).toBe('published')
    },
    { timeout: 60_000 },
  )
  await publisher.stop(1_000)
}

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
    await publishRevision(connection, topic, 'acme', 1)
    const view = createCatalogView(connection, { serviceName: 'spec', logger: silent, topic })
    onTestFinished(view.stop)
    await view.start()
    expect(view.project('acme', 'shop')).toMatchObject({ project: 'shop', revision: 1 })
  },
)

/** A catalog with these organizations, and views of it. `logged`: their errors. */
async function givenCatalog(...organizations: readonly string[]) {
  const { connection, topic } = await createTestTopic(inject('kafkaBrokers'))
  for (const organization of organizations) await publishRevision(connection, topic, organization, 1)
  const logged: string[] = []
  const logger = { ...silent, error: (_: object, message: string) => void logged.push(message) }
  const createView = () => {
    const view = createCatalogView(connection, { serviceName: 'spec', logger, topic, currentEveryMs: 100 })
    onTestFinished(view.stop)
    return view
  }
  return { connection, topic, logged, createView }
}

describe('a batch of the catalog that cannot be decoded', () => {
  const TOO_MANY = { records: 100_001 }
  const soon = { timeout: 20_000 }

  it('leaves the catalog before it in force, is reported for each organization, and later revisions are read', async () => {
    const { connection, topic, logged, createView } = await givenCatalog('acme', 'globex')
    const view = createView()
    await view.start()
    await publishCompressed(connection, { topic, partition: 0 }, TOO_MANY)
    await expect.poll(() => view.problems().length, soon).toBe(2)
    expect(view.project('acme', 'shop')).toMatchObject({ revision: 1 })
    expect(view.problems().map(describeProblem)).toEqual([
      expect.stringMatching(
        /^revision 1 of acme is used, but may not be the latest: The batch at offsets 2 to 100002 of/,
      ),
      expect.stringMatching(
        /^revision 1 of globex is used.* Apply the organization again: see docs\/runbooks\/halted.md$/,
      ),
    ])
    expect(logged).toEqual([expect.stringContaining('The catalog before it stays in force')])

    const { state } = await readCatalog(connection, topic)
    expect([nextRevision(state, 'acme'), nextRevision(state, 'new')]).toEqual([100_003, 100_002])
    await publishRevision(connection, topic, 'acme', 100_003)
    await expect.poll(() => view.project('acme', 'shop'), soon).toMatchObject({ revision: 100_003 })
    expect(view.problems().map(({ organization }) => organization)).toEqual(['globex'])
    const asOfMs = view.currentAsOfMs()
    await expect.poll(() => view.currentAsOfMs(), soon).toBeGreaterThan(asOfMs)
  })

  it('gives a process that starts later the same catalog and problems', async () => {
    const { connection, topic, createView } = await givenCatalog('acme')
    await publishCompressed(connection, { topic, partition: 0 }, TOO_MANY)
    const view = createView()
    await view.start()
    expect(view.project('acme', 'shop')).toMatchObject({ revision: 1 })
    expect(view.problems()).toMatchObject([{ organization: 'acme', usedRevision: 1, isUndecodable: true }])
  })

  it('fails the start of a process that finds no organization, with the remedy; afterwards it starts', async () => {
    const { connection, topic, createView } = await givenCatalog()
    await publishCompressed(connection, { topic, partition: 0 }, TOO_MANY)
    await expect(createView().start()).rejects.toMatchObject({
      code: 'CATALOG_UNREADABLE',
      message: expect.stringContaining('Apply the workspace file of every organization with `nextvisit apply`'),
    })
    const { state } = await readCatalog(connection, topic)
    await publishRevision(connection, topic, 'acme', nextRevision(state, 'acme'))
    const view = createView()
    await view.start()
    expect([view.project('acme', 'shop')?.revision, view.problems()]).toEqual([100_002, []])
  })
})
