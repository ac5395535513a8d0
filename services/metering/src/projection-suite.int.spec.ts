import { randomUUID } from 'node:crypto'
import { answerGiven, eventTracked, identifyRequested, visit, visitAnswered } from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import { describeProjection } from '@nextvisit/testing'
import { metering } from './consumer.ts'

describeProjection(metering, {
  facts: [
    identifyRequested({ operations: { set: { plan: 'pro' } } }),
    eventTracked({}),
    eventTracked({ keyed: true }),
    eventTracked({ keyed: true, lease: randomUUID() }),
    identifyRequested({ keyed: true, environment: 'T', operations: { increment: { logins: 1 } } }),
    visit({ userName: 'bob' }),
    answerGiven({ keyed: true }),
    visitAnswered({ visitId: randomUUID(), queuedId: randomUUID(), formId: 'nps' }),
    eventTracked({ environment: 'T', metered: false, eventName: 'Tried' }),
    eventTracked({ project: 'blog', eventName: 'Read' }),
    identifyRequested({ project: 'blog' }),
    eventTracked({ received: '2026-10-31T23:59:59.999Z', eventName: 'Read' }),
    eventTracked({ received: '2026-11-01T00:00:00.000Z', eventName: 'Read' }),
    identifyRequested({ received: '2026-10-31T23:59:59.999Z', operations: { set: { plan: 'free' } } }),
    visit({ userName: 'bob', keyed: true }),
  ],
  // Usage names nobody, and a user who returns in a month is no second active user of it.
  keptTables: ['mau_members'],
  readRows: async (db: Db) => [
    await db.$queryRaw(
      sql`SELECT to_jsonb(c) AS row FROM counters AS c ORDER BY organization, project, kind, month, partition`,
    ),
    await db.$queryRaw(
      sql`SELECT to_jsonb(m) AS row FROM mau_members AS m ORDER BY organization, project, month, user_id`,
    ),
    await db.$queryRaw(
      sql`SELECT to_jsonb(u) AS row FROM usage AS u ORDER BY organization, project, month, environment, partition`,
    ),
    await db.$queryRaw(
      sql`SELECT to_jsonb(n) AS row FROM unique_names AS n ORDER BY organization, project, kind, slug`,
    ),
  ],
})
