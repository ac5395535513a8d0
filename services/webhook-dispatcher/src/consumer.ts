import path from 'node:path'
import { defineConsumer } from '@nextvisit/consumer'
import { BEHIND } from '@nextvisit/service-kit'
import packageJson from '../package.json' with { type: 'json' }
import { createProjection } from './projection.ts'

/** Writes a delivery for each record that an endpoint of webhooks wants, and sends it (decision 20). */
export const webhookDispatcher = defineConsumer({
  name: 'webhook-dispatcher',
  directory: path.resolve(import.meta.dirname, '..'),
  version: packageJson.version,
  schema: 'webhooks',
  openDb: async (adapter) => new (await import('../generated/prisma/client.ts')).PrismaClient({ adapter }),
  projection: () => createProjection(),

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
    readEndpoints: async () => BEHIND,
    readUnhealthyEndpoints: async () => BEHIND,
    readDeliveries: async () => BEHIND,
    readDelivery: async () => BEHIND,
    replay: async () => BEHIND,
    retryDelivery: async () => BEHIND,
    retryFailed: async () => BEHIND,
    testEndpoint: async () => BEHIND,
    enableEndpoint: async () => BEHIND,
    listen: async () => BEHIND,
  },
})
