import type { CatalogView } from '@nextvisit/catalog'
import { givenProjectionRunner } from '@nextvisit/consumer/test/given-runner.ts'
import { encodeRecord, type UserFact } from '@nextvisit/contracts'
import { eventTracked, identifyRequested, userIdFixture } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { createPublisher, partitionForKey, type Publisher } from '@nextvisit/log'
import { createMetrics } from '@nextvisit/service-kit'
import { createTestTopic, storedTestKeys, storeTestKeys, testSealOf, PATIENT_REQUESTS } from '@nextvisit/testing'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { catalogOf, givenProjector } from '../test/given-projector.ts'
import { createProjection } from './projection.ts'

const PARTITIONS = 4
const SOON = { timeout: 60_000 }
const paying = { id: 'paying', where: { trait: 'plan', is: 'pro' } }
const moment = { id: 'moment', where: { event: 'Checkout Completed', atLeast: 1, within: '2s' } }

const late = { userName: 'late', operations: { set: { plan: 'pro' } } }

const received = () => new Date().toISOString()

describe('segments that several processes compute', () => {
  let given: Awaited<ReturnType<typeof givenProjector>>
  let log: Awaited<ReturnType<typeof createTestTopic>>
  let publisher: Publisher
  const failures: Error[] = []
  beforeAll(async () => {
    given = await givenProjector(inject('databaseUrl'))
    log = await createTestTopic(inject('kafkaBrokers'), { partitions: PARTITIONS })
    publisher = createPublisher(log.connection, PATIENT_REQUESTS)
    await publisher.start()
  })
  afterAll(async () => {
    await publisher?.stop(1_000)
    await given?.stop()
  })

  /** The catalog of every process. Specs change it. */
  let applied = catalogOf([])
  const listeners: ((organization: string) => void)[] = []
  const apply = (next: CatalogView): void => {
    applied = next
    for (const listener of listeners) listener('acme')
  }
  const catalog: CatalogView = {
    ...applied,
    project: (organization, project) => applied.project(organization, project),
    projects: () => applied.projects(),
    revision: (organization) => applied.revision(organization),
    onChange: (listener) => void listeners.push(listener),
  }

  const start = async (metrics = createMetrics('spec')) => {
    const projection = { ...createProjection({ metrics }), topic: log.topic }
    const { runner } = await givenProjectionRunner(projection, log.connection, given.db, {
      catalog,
      onFailure: (error) => failures.push(error),
      metrics,
      tickEveryMs: 100,
      userKeys: storedTestKeys(projection.name),
    })
    return runner
  }

  const publish = async (facts: readonly UserFact[]): Promise<void> => {
    await storeTestKeys(given.db, facts)
    const outcomes = await Promise.all(
      facts.map((fact) =>
        publisher.publish(
          {
            topic: log.topic,
            partition: partitionForKey(fact.userId, PARTITIONS),
            key: fact.userId,
            ...encodeRecord(fact, { source: 'test', time: fact.received, seal: testSealOf(fact.userId) }),
          },
          performance.now() + 30_000,
        ),
      ),
    )
    expect(outcomes.every(({ outcome }) => outcome === 'published')).toBe(true)
  }

  /** Members by rows, and by the kept counts. */
  const members = async () => {
    const counted = await given.prisma.$queryRaw<{ id: string; members: number; kept: number }[]>(sql`
      SELECT segment_id AS id, sum(kept)::int AS kept, (
        SELECT count(*)::int FROM segment_members WHERE segment_members.segment_id = of_all.segment_id
      ) AS members
      FROM (SELECT segment_id, members AS kept FROM segment_counts) AS of_all
      GROUP BY segment_id ORDER BY id`)
    return Object.fromEntries(counted.map(({ id, members: found, kept }) => [id, [found, kept]]))
  }

  it('are complete and exact while users join and leave, and follow the clock', async () => {
    const names = Array.from({ length: 400 }, (_, index) => `user-${index}`)
    const first = await start()
    await start()
    await publish(
      names.map((userName, index) =>
        identifyRequested({
          userName,
          received: received(),
          operations: { set: { plan: index % 2 === 0 ? 'pro' : 'free' } },
        }),
      ),
    )
    await expect.poll(() => given.prisma.user.count(), SOON).toBe(400)

    apply(catalogOf([paying, moment], 2))
    await publish(names.map((userName) => eventTracked({ userName, received: received() })))
    await first.stop()
    await expect.poll(members, SOON).toMatchObject({ paying: [200, 200] })
    await start()
    await publish(names.map((userName) => eventTracked({ userName, received: received() })))
    await expect
      .poll(async () => (await given.prisma.userEvent.aggregate({ _sum: { count: true } }))._sum.count, SOON)
      .toBe(800n)
    await expect.poll(members, SOON).toMatchObject({ paying: [200, 200], moment: [0, 0] })

    apply(catalogOf([moment], 3))
    await expect.poll(() => given.prisma.segmentMember.count(), SOON).toBe(0)
    expect(failures).toEqual([])
  }, 120_000)

  it('make facts wait for a later catalog, and continue once it has arrived', async () => {
    apply(catalogOf([paying], 5))
    const metrics = createMetrics('spec')
    const runner = await start(metrics)
    const retries = async () =>
      Number((await metrics.getSingleMetric('projection_retries_total')?.get())?.values[0]?.value)
    await publish([identifyRequested({ ...late, received: received() })])
    await expect
      .poll(
        () =>
          given.prisma.segmentMember.count({ where: { segmentId: 'paying', userId: userIdFixture(late.userName) } }),
        SOON,
      )
      .toBe(1)
    apply(catalogOf([], 4))
    await publish([identifyRequested({ ...late, received: received() })])
    await expect.poll(retries, SOON).toBeGreaterThan(0)
    apply(catalogOf([paying], 5))
    await expect.poll(() => runner.progress().every(({ lagRecords }) => lagRecords === 0n), SOON).toBe(true)
    expect(failures).toEqual([])
  }, 120_000)
})
