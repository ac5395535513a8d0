import type { CatalogView } from '@nextvisit/catalog'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { encodeRecord } from '@nextvisit/contracts'
import { identifyRequested, organizationConfig } from '@nextvisit/contracts/fixtures'
import { sql } from '@nextvisit/database'
import { createPublisher } from '@nextvisit/log'
import { createTestTopic, testSealOf, PATIENT_REQUESTS } from '@nextvisit/testing'
import { describe, expect, inject, it } from 'vitest'
import { givenReplay, onTopic, publishTestKeys } from '../../test/given-replay.ts'
import { consumerNamed } from '../environment/consumer-database.ts'

const SOON = { timeout: 30_000 }
/** `received` of every identify, long ago: time has entered every user since. */
const JOINED = '2025-11-02T10:00:00.000Z'

/** Returns a catalog at this revision: acme's shop with a segment of users with this plan, and one that time alone enters. */
function paying(plan: string, revision: number): CatalogView {
  const segments = [
    { id: 'paying', where: { trait: 'plan', is: plan } },
    { id: 'known', where: { trait: 'joined', before: '-1h' } },
  ]
  const held = staticCatalog([
    organizationConfig({ id: 'acme', projects: [{ id: 'shop', segments: segments as never }] }),
  ])
  return {
    ...held,
    revision: () => revision,
    project: (organization, project) => {
      const found = held.project(organization, project)
      return found && { ...found, revision }
    },
  }
}

/** Starts the live projector over its own log, with replays of it; `apply` gives both another catalog. */
async function givenReplayedProjector() {
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'))
  let applied = paying('pro', 1)
  const listeners: ((organization: string) => void)[] = []
  const catalog: CatalogView = {
    ...applied,
    project: (organization, project) => applied.project(organization, project),
    projects: () => applied.projects(),
    revision: (organization) => applied.revision(organization),
    onChange: (listener) => void listeners.push(listener),
  }
  const { db, replay, startLive } = await givenReplay(onTopic(consumerNamed('user-projector'), topic), {
    connection,
    catalog,
  })
  await startLive()

  const identify = async (plans: readonly string[]): Promise<void> => {
    const publisher = createPublisher(connection, PATIENT_REQUESTS)
    await publisher.start()
    for (const [index, plan] of plans.entries()) {
      const operations = { set: { plan, joined: JOINED } }
      const fact = identifyRequested({ userName: `user-${index}`, received: JOINED, operations })
      await publishTestKeys(connection, publisher, [fact.userId])
      const seal = testSealOf(fact.userId)
      const { value, headers } = encodeRecord(fact, { source: 'test', time: fact.received, seal })
      const record = { topic, partition: 0, key: fact.userId, value, headers }
      expect((await publisher.publish(record, performance.now() + 10_000)).outcome).toBe('published')
    }
    await publisher.stop(1_000)
  }

  const readMembers = (segmentId = 'paying') =>
    db.$queryRaw<object[]>(sql`SELECT * FROM segment_members WHERE segment_id = ${segmentId} ORDER BY user_id`)
  const waitForKnown = (users: number) => expect.poll(() => readMembers('known'), SOON).toHaveLength(users)
  const readClocks = () => db.$queryRaw<object[]>(sql`SELECT user_id, as_of FROM users ORDER BY user_id`)
  const countComputed = async (revision: number): Promise<number> => {
    const [row] = await db.$queryRaw<{ users: number }[]>(
      sql`SELECT coalesce(sum(users), 0)::int AS users FROM segment_progress WHERE revision = ${revision}`,
    )
    return row?.users ?? 0
  }
  const apply = (next: CatalogView): void => {
    applied = next
    for (const listener of listeners) listener('acme')
  }
  const countPublished = async (): Promise<number> => (await db.$queryRaw<unknown[]>(sql`SELECT FROM outbox`)).length
  return { db, replay, identify, apply, countComputed, countPublished, readMembers, readClocks, waitForKnown }
}

describe('a replay of the user projector', () => {
  it('finds no difference for a changed segment, keeps since, and finds a missing member', async () => {
    const { db, replay, identify, apply, countComputed, countPublished, readMembers, readClocks, waitForKnown } =
      await givenReplayedProjector()
    await identify(['pro', 'free', 'free', 'trial'])
    await expect.poll(() => countComputed(1), SOON).toBe(4)
    await waitForKnown(4)
    apply(paying('free', 2))
    await expect.poll(() => countComputed(2), SOON).toBe(4)
    const [members, clocks] = [await readMembers(), await readClocks()]
    expect(members).toHaveLength(2)
    // The membership of the first plan began and ended, two began by the second definition, and four by time.
    expect(await countPublished()).toBe(8)

    const compared = await replay({ isDryRun: true })
    expect(compared.comparisons.filter(({ onlyLive, onlyRebuilt }) => onlyLive + onlyRebuilt > 0)).toEqual([])
    // Includes users that change between the copy and the swap.
    let changed: readonly object[][] = []
    const onStep = async (step: string): Promise<void> => {
      if (step !== 'swap') return
      await identify(['free', 'pro', 'free', 'free', 'free'])
      await expect.poll(() => countComputed(2), SOON).toBe(5)
      await expect.poll(() => readMembers(), SOON).toHaveLength(4)
      await waitForKnown(5)
      changed = [await readMembers(), await readClocks()]
    }
    expect(await replay({}, { onStep })).toMatchObject({ outcome: 'swapped' })
    expect(await countPublished(), 'the rows of the live outbox').toBe(13)
    expect([await readMembers(), await readClocks()]).toEqual(changed)
    expect(changed).not.toEqual([members, clocks])
    expect(await db.$queryRaw(sql`SELECT FROM pg_class WHERE relname LIKE '\\_changed%'`)).toEqual([])

    await db.$executeRaw(sql`
      DELETE FROM segment_members WHERE segment_id = 'paying' AND user_id = (
        SELECT user_id FROM segment_members WHERE segment_id = 'paying' LIMIT 1
      )`)
    const { outcome, comparisons } = await replay()
    expect(outcome).toBe('refused')
    expect(comparisons.find(({ table }) => table === 'segment_members')).toMatchObject({ onlyLive: 0, onlyRebuilt: 1 })
  })
})
