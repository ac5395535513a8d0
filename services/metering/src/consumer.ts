import path from 'node:path'
import { catchUp, defineConsumer, READ_BARRIER_WITHIN_MS } from '@nextvisit/consumer'
import {
  INTERNAL_ROUTES,
  LeaseRequest,
  ReleaseRequest,
  ReserveRequest,
  ReturnLeasedRequest,
  UsageQuery,
} from '@nextvisit/contracts'
import { internalRoute } from '@nextvisit/service-kit'
import packageJson from '../package.json' with { type: 'json' }
import { leaseRoom, returnLeased } from './leases.ts'
import { release, reserve } from './ledger.ts'
import { meteringProjection } from './metering-projection.ts'
import { readUsage } from './queries.ts'

/** Counts what the plan limits, and reserves room under the limits for records that are about to be published. */
export const metering = defineConsumer({
  name: 'metering',
  directory: path.resolve(import.meta.dirname, '..'),
  version: packageJson.version,
  schema: 'metering',
  openDb: async (adapter) => new (await import('../generated/prisma/client.ts')).PrismaClient({ adapter }),
  projection: () => meteringProjection,

  // Reservations, and the numbers of them, are promises to gateways. They are not in the log.
  tables: {
    counters: {
      folded: (table) => `SELECT organization, project, kind, month, partition, count FROM ${table}`,
      // Only folds change it, and each of them writes the rebuilt row, too.
      carriedColumn: { column: 'fulfilled', when: 'own.fulfilled <> theirs.fulfilled' },
      notCompared: 'fulfilled: it goes by reservations. The live one is kept.',
    },
    reserved_room: 'carried',
    reservations: 'carried',
    mau_members: 'fold',
    usage: 'fold',
    unique_names: 'fold',
  },

  routes: ({ db, readDb, barrier, countPartitions, catalog, now, hurry }) => [
    internalRoute(INTERNAL_ROUTES.reserve, ReserveRequest, async ({ reservations }) => {
      const verdicts = await reserve(db, reservations, now())
      // Whether the room is used up is known once the records that hold it are folded. Callers ask again until then.
      if (verdicts.includes('held')) hurry()
      return { verdicts }
    }),
    internalRoute(INTERNAL_ROUTES.release, ReleaseRequest, async ({ recordIds }) => {
      await release(db, recordIds)
      return {}
    }),
    internalRoute(INTERNAL_ROUTES.lease, LeaseRequest, async ({ questions }) => ({
      granted: await leaseRoom(db, questions, now()),
    })),
    internalRoute(INTERNAL_ROUTES.returnLeased, ReturnLeasedRequest, async ({ returned }) => {
      await returnLeased(db, returned)
      return {}
    }),
    internalRoute(INTERNAL_ROUTES.readUsage, UsageQuery, async (query, context) => {
      await catchUp({ barrier, countPartitions }, 'all users', { ...context, withinMs: READ_BARRIER_WITHIN_MS })
      const project = catalog.project(query.organization, query.project)
      return readUsage(readDb, query, project?.disabledTraits ?? new Set())
    }),
  ],
})
