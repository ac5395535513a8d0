import { randomUUID } from 'node:crypto'
import { type Db, sql } from '@nextvisit/database'
import { describeProjection } from '@nextvisit/testing'
import { userEraser } from './consumer.ts'

const PROJECT = { organization: 'acme', project: 'shop' }
const USERS = Array.from({ length: 4 }, () => randomUUID())

/** `userId` is not a member of the record: the suite spreads the facts over partitions by it. */
function requested(userId: string, minute: number, id: string = randomUUID()) {
  const received = `2026-11-02T10:0${minute}:00.000Z`
  const userIds = [userId, userId]
  return { type: 'ErasureRequested', id, ...PROJECT, userId, received, userIds, unknown: 0, suppress: true }
}

function completed(userId: string, erasureId: string, receipt: string) {
  const at = '2026-11-02T11:00:00.000Z'
  return { type: 'ErasureCompleted', id: randomUUID(), ...PROJECT, userId, erasureId, at, receipt }
}

function lifted(userId: string) {
  return { type: 'SuppressionLifted', id: randomUUID(), ...PROJECT, userId, received: '2026-11-02T12:00:00.000Z' }
}

const [ada = '', bob = ''] = USERS
const first = requested(ada, 1)
const second = requested(bob, 2)

describeProjection(userEraser, {
  facts: [
    first,
    requested(ada, 0),
    second,
    ...USERS.map((userId) => requested(userId, 3)),
    // A repeat, and a second completion: the first of each counts.
    requested(ada, 5, first.id),
    completed(ada, first.id, '{"first":true}'),
    completed(ada, first.id, '{"first":false}'),
    completed(bob, second.id, '{}'),
    completed(bob, randomUUID(), '{}'),
    lifted(ada),
  ],
  readRows: async (db: Db) => [
    await db.$queryRaw(sql`SELECT to_jsonb(e) AS row FROM erasures AS e ORDER BY erasure_id`),
    await db.$queryRaw(sql`SELECT to_jsonb(u) AS row FROM erasure_users AS u ORDER BY erasure_id, user_id`),
  ],
})
