import path from 'node:path'
import type { CatalogView } from '@nextvisit/catalog'
import { encodeRecord } from '@nextvisit/contracts'
import { identifyRequested } from '@nextvisit/contracts/fixtures'
import { prepareServiceSchema, sql } from '@nextvisit/database'
import { openTestDb } from '@nextvisit/database/testing'
import { createPublisher } from '@nextvisit/log'
import { coreMigrations, createProjectionRunner } from '@nextvisit/projection'
import { replayService } from '@nextvisit/projection/replay'
import { createLogger } from '@nextvisit/service-kit'
import { createTestDatabase, createTestTopic } from '@nextvisit/testing'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { catalogOf } from '../test/given-projector.ts'
import { segmentsSettledUntil, tableRoles } from './table-roles.ts'
import { createUserProjection } from './user-projection.ts'

const ROLE = 'nextvisit_test_users'
const SOON = { timeout: 30_000 }
const paying = (plan: string) =>
  catalogOf([{ id: 'paying', where: { trait: 'plan', is: plan } }], plan === 'pro' ? 1 : 2)

const ignore = (): void => {}

/** The live projector over a log of its own, and replays of it; `apply` gives both another catalog. */
async function givenReplayedProjector() {
  const database = await createTestDatabase(inject('databaseUrl'), { schema: 'not_this_one' })
  const adminUrl = database.url
  const migrations = [
    { directory: coreMigrations, table: '_core_migrations' },
    { directory: path.join(import.meta.dirname, '../prisma/migrations'), table: '_prisma_migrations' },
  ]
  await prepareServiceSchema({ adminUrl, schema: 'users', role: ROLE, password: 'test', migrations })
  const db = openTestDb(Object.assign(new URL(adminUrl), { username: ROLE, password: 'test' }).href, 'users')
  onTestFinished(async () => {
    await db.$disconnect()
    await database.drop()
  })
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'))
  const projection = { ...createUserProjection(), topics: [topic] }
  let applied = paying('pro')
  const catalog: CatalogView = {
    ...applied,
    project: (organization, project) => applied.project(organization, project),
    projects: () => applied.projects(),
    revision: (organization) => applied.revision(organization),
  }
  const runner = createProjectionRunner({
    projection,
    db,
    connection,
    catalog,
    onFailure: ignore,
    logger: createLogger('spec', 'silent'),
    now: () => new Date(),
    serviceVersion: 'test',
    tickEveryMs: 100,
    groupId: `users.${topic}`,
    consumer: { sessionTimeoutMs: 6_000, heartbeatIntervalMs: 200, maxWaitMs: 50 },
  })
  await runner.start()
  onTestFinished(runner.stop)

  const replay = (isDryRun: boolean) =>
    replayService(
      {
        database: { service: 'user-projector', schema: 'users', role: ROLE },
        serviceVersion: 'test',
        projection,
        roles: tableRoles,
        settledUntil: segmentsSettledUntil,
        openDb: ({ url, schema }) => openTestDb(url, schema),
      },
      { isDryRun, acceptsDifferences: false, restart: false },
      {
        adminUrl,
        connection,
        catalog,
        migrations,
        onBegin: ignore,
        onProgress: ignore,
        onStep: ignore,
        onPause: ignore,
      },
    )

  const identify = async (plans: readonly string[]): Promise<void> => {
    const publisher = createPublisher(connection)
    await publisher.start()
    for (const [index, plan] of plans.entries()) {
      const fact = identifyRequested({ userName: `user-${index}`, operations: { set: { plan } } })
      const { value, headers } = encodeRecord(fact, { source: 'test', time: fact.received })
      const record = { topic, partition: 0, key: fact.userId, value, headers }
      expect((await publisher.publish(record, performance.now() + 10_000)).outcome).toBe('published')
    }
    await publisher.stop(1_000)
  }

  const readMembers = () => db.$queryRaw<object[]>(sql`SELECT * FROM segment_members ORDER BY user_id`)
  const readClocks = () => db.$queryRaw<object[]>(sql`SELECT user_id, as_of FROM users ORDER BY user_id`)
  const countComputed = async (revision: number): Promise<number> => {
    const [row] = await db.$queryRaw<{ users: number }[]>(
      sql`SELECT coalesce(sum(users), 0)::int AS users FROM segment_progress WHERE revision = ${revision}`,
    )
    return row?.users ?? 0
  }
  const apply = (next: CatalogView): void => void (applied = next)
  return { db, replay, identify, apply, countComputed, readMembers, readClocks }
}

describe('a replay of the user projector', () => {
  it('finds no difference where a segment was changed, leaves since when, and finds a member too few', async () => {
    const { db, replay, identify, apply, countComputed, readMembers, readClocks } = await givenReplayedProjector()
    await identify(['pro', 'free', 'free', 'trial'])
    await expect.poll(() => countComputed(1), SOON).toBe(4)
    apply(paying('free'))
    await expect.poll(() => countComputed(2), SOON).toBe(4)
    const [members, clocks] = [await readMembers(), await readClocks()]
    expect(members).toHaveLength(2)

    const compared = await replay(true)
    expect(compared.comparisons.filter(({ onlyLive, onlyRebuilt }) => onlyLive + onlyRebuilt > 0)).toEqual([])
    expect(await replay(false)).toMatchObject({ outcome: 'swapped' })
    expect([await readMembers(), await readClocks()]).toEqual([members, clocks])

    await db.$executeRaw(sql`DELETE FROM segment_members WHERE user_id = (SELECT user_id FROM segment_members LIMIT 1)`)
    const { outcome, comparisons } = await replay(false)
    expect(outcome).toBe('refused')
    expect(comparisons.find(({ table }) => table === 'segment_members')).toMatchObject({ onlyLive: 0, onlyRebuilt: 1 })
  })
})
