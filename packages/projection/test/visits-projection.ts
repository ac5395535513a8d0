import { encodeRecord, TOPICS, UserFact } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { outboxStatement } from '../src/outbox.ts'
import type { Projection } from '../src/projection.ts'

export interface VisitsDraft {
  readonly users: Map<string, { count: number; lastEvent: string }>
  readonly events: UserFact[]
}

/** An example that does everything a projection may do: it counts a user's events and publishes each of them again. */
export function createVisitsProjection(topic: string = TOPICS.userEvents): Projection<UserFact, VisitsDraft> {
  return {
    name: 'visits',
    topics: [topic],
    schema: UserFact,
    idempotencyOf: (fact) => {
      if ('imported' in fact) return { id: fact.id, receivedMs: Infinity }
      return 'keyed' in fact && fact.keyed ? { id: fact.id, receivedMs: Date.parse(fact.received) } : undefined
    },
    empty: () => ({ users: new Map(), events: [] }),
    load: async (db, batch) => ({
      users: await readUsers(
        db,
        batch.map(({ fact }) => fact.userId),
      ),
      events: [],
    }),
    evolve: (draft, { fact }, { isRebuild }) => {
      if (fact.type !== 'EventTracked') return draft
      if (fact.slug === 'a_bug') throw new TypeError('a bug')
      const count = (draft.users.get(fact.userId)?.count ?? 0) + 1
      draft.users.set(fact.userId, { count, lastEvent: fact.slug })
      if (!isRebuild) draft.events.push(fact)
      return draft
    },
    save: ({ users, events }) => {
      const rows = [...users].toSorted(([one], [other]) => (one < other ? -1 : 1))
      const upsert = sql`
        INSERT INTO visits SELECT * FROM unnest(
          ${rows.map(([userId]) => userId)}::uuid[],
          ${rows.map(([, { count }]) => count)}::int[],
          ${rows.map(([, { lastEvent }]) => lastEvent)}::text[])
        ON CONFLICT (user_id) DO UPDATE SET count = excluded.count, last_event = excluded.last_event`
      const outbox = events.map((fact) => ({
        topic: `${topic}.out`,
        key: fact.userId,
        ...encodeRecord(fact, { source: 'visits', time: fact.received }),
      }))
      return outbox.length > 0 ? [upsert, outboxStatement(outbox)] : [upsert]
    },
    tick: async (_db, instant) => [
      sql`INSERT INTO visits VALUES ('00000000-0000-4000-8000-000000000000', 1, ${instant.toISOString()})
        ON CONFLICT (user_id) DO UPDATE SET count = visits.count + 1, last_event = excluded.last_event`,
    ],
  }
}

async function readUsers(db: Db, ids: readonly string[]): Promise<VisitsDraft['users']> {
  const rows = await db.$queryRaw<{ user_id: string; count: number; last_event: string }[]>(
    sql`SELECT user_id, count, last_event FROM visits WHERE user_id = ANY(${ids}::uuid[])`,
  )
  return new Map(rows.map((row) => [row.user_id, { count: row.count, lastEvent: row.last_event }]))
}

/** Everything but what ticks write. */
export function readVisits(db: Db): Promise<unknown> {
  return db.$queryRaw(
    sql`SELECT * FROM visits WHERE user_id <> '00000000-0000-4000-8000-000000000000' ORDER BY user_id`,
  )
}

/** The events counted in the read model. */
export async function countVisits(db: Db): Promise<number> {
  const rows = (await readVisits(db)) as { count: number }[]
  return rows.reduce((sum, { count }) => sum + count, 0)
}
