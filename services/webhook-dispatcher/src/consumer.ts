import path from 'node:path'
import { catchUp, defineConsumer, type HandlerParts, READ_BARRIER_WITHIN_MS, staleUnless } from '@nextvisit/consumer'
import { DISABLED_IN_FILE, DONE } from '@nextvisit/contracts'
import { type CallContext, NOT_FOUND } from '@nextvisit/service-kit'
import packageJson from '../package.json' with { type: 'json' }
import { enableEndpoint, testEndpoint } from './endpoint-commands.ts'
import { webhookOf } from './endpoints.ts'
import { findDelivery } from './find-delivery.ts'
import { createListeners } from './listeners.ts'
import { createProjection } from './projection.ts'
import { readEndpoints, readUnhealthyEndpoints } from './queries.ts'
import { readDeliveries, readDelivery } from './read-deliveries.ts'
import { beginReplay } from './replays.ts'
import { retryDelivery, retryFailed } from './retry-deliveries.ts'

/** The listeners of this process: its fold tells them what its calls answer. */
export const listeners = createListeners()

/** Writes a delivery for each record that an endpoint of webhooks wants, and sends it (decision 20). */
export const webhookDispatcher = defineConsumer({
  name: 'webhook-dispatcher',
  directory: path.resolve(import.meta.dirname, '..'),
  version: packageJson.version,
  schema: 'webhooks',
  openDb: async (adapter) => new (await import('../generated/prisma/client.ts')).PrismaClient({ adapter }),
  projection: () => createProjection(listeners),

  // Places in the log, and what was sent.
  tables: {
    endpoints: 'carried',
    positions: 'carried',
    replays: 'carried',
    deliveries: 'carried',
    turns: 'carried',
    attempts: 'carried',
  },

  calls: {
    readEndpoints: async (query, context) => {
      const isCaughtUp = await hasCaughtUp(context)
      const partitions = await context.countKeyPartitions()
      const found = await readEndpoints(context.readDb, query, { ...context, partitions, now: context.now() })
      return { ...found, ...staleUnless(isCaughtUp) }
    },
    readUnhealthyEndpoints: async (_query, { readDb, catalog, now }) => {
      return { endpoints: await readUnhealthyEndpoints(readDb, { catalog, now: now() }) }
    },
    readDeliveries: async (query, context) => {
      // Later pages contain older deliveries.
      const isCaughtUp = query.after !== undefined || (await hasCaughtUp(context))
      if (!webhookOf(context.catalog, query)) return NOT_FOUND
      return { ...(await readDeliveries(context.readDb, query)), ...staleUnless(isCaughtUp) }
    },
    readDelivery: async (query, { readDb, catalog }) => {
      const found = await findDelivery(readDb, query, catalog)
      return (found && (await readDelivery(readDb, found))) ?? NOT_FOUND
    },
    replay: async (command, { db, catalog, now, countKeyPartitions }) => {
      if (!webhookOf(catalog, command)) return NOT_FOUND
      return beginReplay(db, command, { partitions: await countKeyPartitions(), now: now() })
    },
    retryDelivery: async (query, { db, catalog, now }) => {
      const found = await findDelivery(db, query, catalog)
      if (!found) return NOT_FOUND
      const retried = await retryDelivery(db, found, now())
      return retried === 'retried' ? { deliveryId: found.deliveryId } : (retried ?? NOT_FOUND)
    },
    retryFailed: async (command, { db, catalog, now, signal }) => {
      if (!webhookOf(catalog, command)) return NOT_FOUND
      return { retried: await retryFailed(db, command, { now: now(), signal }) }
    },
    testEndpoint: async (endpoint, { db, catalog, now }) => {
      return webhookOf(catalog, endpoint) ? testEndpoint(db, endpoint, now()) : NOT_FOUND
    },
    enableEndpoint: async (endpoint, { db, catalog, now, countKeyPartitions }) => {
      const webhook = webhookOf(catalog, endpoint)
      if (!webhook) return NOT_FOUND
      if (!webhook.enabled) return DISABLED_IN_FILE
      const partitions = await countKeyPartitions()
      await enableEndpoint(db, { ...endpoint, addedAt: webhook.addedAt }, { now: now(), partitions })
      return DONE
    },
    listen: async (query, context) => {
      if (!context.catalog.project(query.organization, query.project)) return NOT_FOUND
      return listeners.listen(query, context)
    },
  },
})

/** Waits for the records on `form-events`. Endpoints that are behind get theirs later. */
function hasCaughtUp(context: HandlerParts & CallContext): Promise<boolean> {
  return catchUp('all users', { ...context, withinMs: READ_BARRIER_WITHIN_MS })
}
