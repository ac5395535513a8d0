import path from 'node:path'
import { catchUp, defineConsumer, READ_BARRIER_WITHIN_MS, staleUnless } from '@nextvisit/consumer'
import { FACTS_ARRIVE_WITHIN_MS } from '@nextvisit/domain'
import { BEHIND, NOT_FOUND } from '@nextvisit/service-kit'
import packageJson from '../package.json' with { type: 'json' }
import {
  lookUpUsers,
  readSegmentMembers,
  readSegments,
  readTraits,
  readUser,
  readUserKeys,
  readUserNames,
} from './queries.ts'
import { createProjection } from './projection.ts'

/**
 * Less than the default, because admission waits at most half a second for the fold of a missing user (`lookUpUsers`). A
 * process that answers without owning the partition cannot fetch its records early.
 */
const FETCH_PAUSE_MS = 350

/** Folds users with their traits, device facts, events and segments, and publishes changed memberships. */
export const userProjector = defineConsumer({
  name: 'user-projector',
  directory: path.resolve(import.meta.dirname, '..'),
  version: packageJson.version,
  schema: 'users',
  fetchPauseMs: FETCH_PAUSE_MS,
  opensRecords: true,
  publishes: true,
  openDb: async (adapter) => new (await import('../generated/prisma/client.ts')).PrismaClient({ adapter }),
  projection: (parts) => createProjection(parts),

  // When a segment changes, the live consumer recomputes it for every user, at an instant that the log does not contain. A
  // rebuild uses the new definition from the beginning. Both result in the same members, and in the same instants at which
  // time changes them. Only the live rows tell when a segment was computed, and since when a user is a member.
  tables: {
    users: {
      // No segment changes before changes_at.
      carriedColumn: {
        column: 'as_of',
        when: `own.definitions = theirs.definitions AND own.changes_at IS NOT DISTINCT FROM theirs.changes_at
          AND coalesce(own.as_of, '-infinity') < theirs.as_of`,
      },
      notCompared: {
        as_of: 'segments are also computed when one changes, at an instant that the log does not contain.',
      },
    },
    user_events: 'fold',
    form_answers: 'fold',
    segment_members: {
      carriedColumn: { column: 'since', when: 'own.since <> theirs.since' },
      notCompared: { since: 'it also depends on when a segment was changed. The live value is kept.' },
    },
    // A count of 0 may have a row.
    segment_counts: { comparedWhere: () => 'members > 0' },
    segment_progress: {
      notCompared: { revision: 'it is the revision of the catalog at the last comparison with the segments.' },
      comparedWhere: () => 'users > 0',
    },
  },

  // Ticks change users in the order of changes_at, so every user before the first due one has changed. A tick settles a
  // time slightly before its own instant. clock_timestamp(), because the transaction began before it waited for folds.
  settledUntil: (schema) => `
    SELECT owned.partition, least(clock_timestamp(), due.changes_at - interval '1 ms')
      + interval '${FACTS_ARRIVE_WITHIN_MS} ms' AS instant
    FROM (SELECT DISTINCT partition FROM ${schema}.checkpoints) AS owned, LATERAL (
      SELECT min(changes_at) AS changes_at FROM ${schema}.users
      WHERE users.partition = owned.partition AND changes_at IS NOT NULL) AS due`,

  calls: {
    lookUpUsers: async ({ questions }, context) => ({ answers: await lookUpUsers(questions, context) }),
    readUser: async (query, context) => {
      const isCaughtUp = await catchUp(query, { ...context, withinMs: READ_BARRIER_WITHIN_MS })
      const user = await readUser(context.readDb, query)
      // The user may exist although the latest records are not folded.
      return user ? { ...user, ...staleUnless(isCaughtUp) } : isCaughtUp ? NOT_FOUND : BEHIND
    },
    readTraits: async ({ questions }, context) => ({ answers: await readTraits(questions, context) }),
    // A userName never changes, and one that is not folded yet is only missing on a screen.
    readUserNames: async ({ questions }, { readDb }) => ({ answers: await readUserNames(readDb, questions) }),
    readUserKeys: async (query, context) => {
      const [userId, ...others] = query.userIds
      const of = userId !== undefined && others.length === 0 ? { userId } : 'all users'
      const isCaughtUp = await catchUp(of, { ...context, withinMs: READ_BARRIER_WITHIN_MS })
      return { users: await readUserKeys(context.readDb, query), ...staleUnless(isCaughtUp) }
    },
    readSegments: async (query, context) => {
      const isCaughtUp = await catchUp('all users', { ...context, withinMs: READ_BARRIER_WITHIN_MS })
      return { ...(await readSegments(context.readDb, query)), ...staleUnless(isCaughtUp) }
    },
    readSegmentMembers: async (query, context) => {
      const isCaughtUp = await catchUp('all users', { ...context, withinMs: READ_BARRIER_WITHIN_MS })
      return { ...(await readSegmentMembers(context.readDb, query)), ...staleUnless(isCaughtUp) }
    },
  },
})
