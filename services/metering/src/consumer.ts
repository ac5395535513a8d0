import path from 'node:path'
import { catchUp, defineConsumer, READ_BARRIER_WITHIN_MS, staleUnless } from '@nextvisit/consumer'
import { DONE } from '@nextvisit/contracts'
import packageJson from '../package.json' with { type: 'json' }
import { leaseRoom, returnLeased } from './leases.ts'
import { release, reserve } from './ledger.ts'
import { createProjection } from './projection.ts'
import { readUsage } from './queries.ts'

/** Counts usage against the plan's limits, and reserves room under the limits for records before they are published. */
export const metering = defineConsumer({
  name: 'metering',
  directory: path.resolve(import.meta.dirname, '..'),
  version: packageJson.version,
  schema: 'metering',
  openDb: async (adapter) => new (await import('../generated/prisma/client.ts')).PrismaClient({ adapter }),
  projection: () => createProjection(),

  // Reservations and their numbers are promises to gateways. They are not in the log.
  tables: {
    counters: {
      // Only folds change it, and each fold writes the rebuilt row, too.
      carriedColumn: { column: 'fulfilled', when: 'own.fulfilled <> theirs.fulfilled' },
      notCompared: { fulfilled: 'it depends on reservations. The live value is kept.' },
    },
    reserved_room: 'carried',
    reservations: 'carried',
    mau_members: 'fold',
    usage: 'fold',
    unique_names: 'fold',
  },

  calls: {
    reserve: async ({ questions }, { db, now, fetchNow }) => {
      const answers = await reserve(db, questions, now())
      // Callers ask again until the records that hold the room are folded.
      if (answers.includes('held')) fetchNow()
      return { answers }
    },
    release: async ({ questions }, { db }) => {
      await release(
        db,
        questions.map(({ recordId }) => recordId),
      )
      return { answers: questions.map(() => DONE) }
    },
    lease: async ({ questions }, { db, now }) => ({ answers: await leaseRoom(db, questions, now()) }),
    returnLeased: async ({ questions }, { db }) => {
      await returnLeased(db, questions.flat())
      return { answers: questions.map(() => DONE) }
    },
    readUsage: async (query, context) => {
      const isCaughtUp = await catchUp('all users', { ...context, withinMs: READ_BARRIER_WITHIN_MS })
      const project = context.catalog.project(query.organization, query.project)
      const usage = await readUsage(context.readDb, query, project?.disabledTraits ?? new Set())
      return { ...usage, ...staleUnless(isCaughtUp) }
    },
  },
})
