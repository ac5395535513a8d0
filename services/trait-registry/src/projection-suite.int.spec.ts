import { randomUUID } from 'node:crypto'
import { answerGiven, eventTracked, identifyRequested, visit, visitAnswered } from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import { describeProjection } from '@nextvisit/testing'
import { traitRegistry } from './consumer.ts'

describeProjection(traitRegistry, {
  facts: [
    eventTracked({ eventName: 'Signed Up', received: '2026-11-02T10:00:00.000Z' }),
    eventTracked({ eventName: 'signed up', received: '2026-11-02T09:00:00.000Z', keyed: true }),
    eventTracked({ eventName: 'SIGNED UP', received: '2026-11-02T11:00:00.000Z' }),
    identifyRequested({ operations: { set: { plan: 'free', email: 'ada@example.com' }, increment: { logins: 1 } } }),
    identifyRequested({ keyed: true, operations: { setOnce: { plan: 'pro' }, unset: ['gone'] } }),
    visit({ operations: { decrement: { credit: 1 }, increment: { logins: 1 } }, device: { $deviceOs: 'iOS' } }),
    answerGiven({ keyed: true }),
    visitAnswered({ visitId: randomUUID(), queuedId: randomUUID(), formId: 'nps' }),
    eventTracked({ eventName: 'Opened', project: 'blog' }),
    eventTracked({ eventName: 'opened', project: 'blog', received: '2026-11-01T10:00:00.000Z' }),
    identifyRequested({ userName: 'bob', operations: { set: { plan: 'pro' } }, received: '2026-11-01T10:00:00.000Z' }),
    eventTracked({ eventName: 'Opened', keyed: true }),
    eventTracked({ eventName: 'Signed-Up', received: '2026-11-02T09:00:00.000Z' }),
  ],
  readRows: async (db: Db) => [
    await db.$queryRaw(sql`SELECT to_jsonb(d) AS row FROM definitions AS d ORDER BY organization, project, kind, slug`),
    await db.$queryRaw(sql`
      SELECT to_jsonb(c) AS row FROM definition_counts AS c ORDER BY organization, project, kind, slug, partition`),
  ],
})
