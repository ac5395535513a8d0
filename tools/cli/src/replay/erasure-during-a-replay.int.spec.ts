import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { encodeRecord, type ReplayStep, type UserFact } from '@nextvisit/contracts'
import { eventTracked, organizationConfig, userErased, userIdFixture } from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import { createPublisher } from '@nextvisit/log'
import { createTestTopic, PATIENT_REQUESTS } from '@nextvisit/testing'
import { expect, inject, it, onTestFinished } from 'vitest'
import { givenReplay, onTopic } from '../../test/given-replay.ts'
import { consumerNamed } from '../environment/consumer-database.ts'

const SOON = { timeout: 40_000 }
const [ADA, BOB] = [userIdFixture('ada'), userIdFixture('bob')]

/** Decisions are carried over, counts are folded. A form that nobody gets leaves the queue empty, which has another topic. */
const CATALOG = staticCatalog([
  organizationConfig({
    id: 'acme',
    projects: [
      {
        id: 'shop',
        forms: [{ id: 'nps', triggers: [{ event: 'Checkout Completed' }], audience: { trait: 'plan', is: 'pro' } }],
      },
    ],
  } as never),
])

/** Starts the live evaluator over its own log. */
async function givenEvaluator() {
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'))
  const { published: _, ...evaluator } = consumerNamed('form-trigger-evaluator')
  const { db, replay, startLive } = await givenReplay(onTopic(evaluator, topic), { connection, catalog: CATALOG })
  const publisher = createPublisher(connection, PATIENT_REQUESTS)
  await publisher.start()
  onTestFinished(() => publisher.stop(1_000))
  const publish = async (...values: readonly (UserFact | string)[]): Promise<void> => {
    for (const value of values) {
      const record =
        typeof value === 'string'
          ? { key: ADA, value, headers: {} }
          : { key: value.userId, ...encodeRecord(value, { source: 'test', time: value.received }) }
      const outcome = await publisher.publish({ topic, partition: 0, ...record }, performance.now() + 30_000)
      expect(outcome.outcome).toBe('published')
    }
  }
  await startLive()
  return { db, replay, publish }
}

const readUsers = async (db: Db, table: string): Promise<readonly string[]> => {
  const rows = await db.$queryRaw<{ id: string }[]>(sql`
    SELECT user_id AS id FROM decisions WHERE ${table} = 'decisions'
    UNION ALL SELECT user_id FROM event_occurrences WHERE ${table} = 'event_occurrences' ORDER BY id`)
  return rows.map(({ id }) => id)
}
const readErasures = (db: Db) => db.$queryRaw<unknown[]>(sql`SELECT user_id AS id, rows::int FROM erased_users`)

it.each<ReplayStep>(['compare', 'carry', 'swap'])(
  'an erasure that is folded before the step %s of a replay brings no row back',
  async (at) => {
    const { db, replay, publish } = await givenEvaluator()
    await publish(eventTracked(), eventTracked({ userName: 'bob' }), '{"poison of ada')
    await expect.poll(() => readUsers(db, 'decisions'), SOON).toHaveLength(2)
    const erase = async (): Promise<void> => {
      await publish(userErased())
      await expect.poll(() => readErasures(db), SOON).toEqual([{ id: ADA, rows: 2 }])
    }
    const { outcome } = await replay({}, { onStep: async (step) => (step === at ? erase() : undefined) })
    expect(outcome).toBe('swapped')
    for (const table of ['decisions', 'event_occurrences']) expect(await readUsers(db, table)).toEqual([BOB])
    expect(await readErasures(db)).toEqual([{ id: ADA, rows: 2 }])
    expect(await db.$queryRaw(sql`SELECT state, value FROM dead_letters`)).toEqual([
      { state: 'discarded', value: null },
    ])

    // The live fold continues, and the user may return.
    await publish(eventTracked())
    await expect.poll(() => readUsers(db, 'decisions'), SOON).toHaveLength(2)
    const { comparisons } = await replay({ isDryRun: true })
    expect(comparisons.map(({ table, onlyLive, onlyRebuilt }) => [table, onlyLive + onlyRebuilt])).toEqual(
      comparisons.map(({ table }) => [table, 0]),
    )
  },
)
