import { encodeRecord, isActivityFact, TOPICS, UserFact } from '@nextvisit/contracts'
import { type Db, defineTable, sql } from '@nextvisit/database'
import { idempotentRecordOf } from '@nextvisit/domain'
import type { Projection } from '../src/core/projection.ts'
import { type ErasedUser, erasedUserOf, eraseRows } from '../src/fold/erase-users.ts'

/** Holds the example's migrations, in `prisma/migrations`. */
export const VISITS_DIRECTORY = import.meta.dirname

const visits = defineTable('visits', { userId: 'uuid', count: 'int', lastEvent: 'text' }, ['userId'])

export interface VisitsDraft {
  readonly users: Map<string, { count: number; lastEvent: string }>
  readonly events: { readonly fact: UserFact; readonly partition: number }[]
  readonly erased: ErasedUser[]
}

/** The example's projection, which has ticks. */
export type VisitsProjection = Projection<UserFact, VisitsDraft> &
  Required<Pick<Projection<UserFact, VisitsDraft>, 'ticks'>>

/** Creates an example with every member of a projection: it counts a user's events, and publishes each event again. */
export function createVisitsProjection(topic: string = TOPICS.userEvents): VisitsProjection {
  return {
    name: 'visits',
    topic,
    schema: UserFact,
    idempotencyOf: idempotentRecordOf,
    load: async (db, batch) => {
      const facts = batch.flatMap(({ fact }) => (isActivityFact(fact) ? fact : []))
      const rows = await visits.selectByKeys(db, facts)
      return { users: new Map(rows.map(({ userId, ...visit }) => [userId, visit])), events: [], erased: [] }
    },
    evolve: {
      EventTracked: (draft, { fact, partition }, { mode }) => {
        if (fact.slug === 'a_bug') throw new TypeError('a bug')
        const count = (draft.users.get(fact.userId)?.count ?? 0) + 1
        draft.users.set(fact.userId, { count, lastEvent: fact.slug })
        if (mode === 'live') draft.events.push({ fact, partition })
      },
      IdentifyRequested: 'ignored',
      AnswerGiven: 'ignored',
      VisitAnswered: 'ignored',
      UserErased: ({ erased }, record) => void erased.push(erasedUserOf(record)),
    },
    save: ({ users, events, erased }) => ({
      statements: [
        ...eraseRows('visits', erased, { columns: ['user_id'] }),
        ...visits.upsert(Array.from(users, ([userId, visit]) => ({ userId, ...visit }))),
      ],
      outbox: events.map(({ fact, partition }) => ({
        partition,
        topic: `${topic}.out`,
        key: fact.userId,
        ...encodeRecord(fact, { source: 'visits', time: fact.received }),
      })),
    }),
    ticks: {
      due: async (_db, _instant, { partitions }) => partitions,
      tick: async (_db, instant) => ({
        statements: [
          sql`INSERT INTO visits VALUES ('00000000-0000-4000-8000-000000000000', 1, ${instant.toISOString()})
            ON CONFLICT (user_id) DO UPDATE SET count = visits.count + 1, last_event = excluded.last_event`,
        ],
      }),
    },
  }
}

/** Reads every row except the one that ticks write. */
export function readVisits(db: Db): Promise<unknown> {
  return db.$queryRaw(
    sql`SELECT * FROM visits WHERE user_id <> '00000000-0000-4000-8000-000000000000' ORDER BY user_id`,
  )
}

/** Counts the events in the read model. */
export async function countVisits(db: Db): Promise<number> {
  const rows = (await readVisits(db)) as { count: number }[]
  return rows.reduce((sum, { count }) => sum + count, 0)
}
