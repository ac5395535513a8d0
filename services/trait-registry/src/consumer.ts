import path from 'node:path'
import { defineConsumer } from '@nextvisit/consumer'
import { ClaimRequest, DefinitionsQuery, INTERNAL_ROUTES, ReleaseClaimsRequest } from '@nextvisit/contracts'
import { internalRoute } from '@nextvisit/service-kit'
import packageJson from '../package.json' with { type: 'json' }
import { claimNames, releaseClaims } from './claims.ts'
import { readDefinitions } from './queries.ts'
import { createRegistryProjection } from './registry-projection.ts'

/** Knows the traits and events of every project, and grants claims of new names under the plan's caps. */
export const traitRegistry = defineConsumer({
  name: 'trait-registry',
  directory: path.resolve(import.meta.dirname, '..'),
  version: packageJson.version,
  schema: 'registry',
  openDb: async (adapter) => new (await import('../generated/prisma/client.ts')).PrismaClient({ adapter }),
  projection: ({ countPartitions }) => createRegistryProjection({ countPartitions }),

  // Claims, the rows that lock them, and how far ticks have looked are not in the log.
  tables: {
    definitions: 'fold',
    definition_counts: 'fold',
    projects: 'carried',
    claims: 'carried',
    tick_marks: 'carried',
  },

  routes: ({ db, readDb, now }) => [
    internalRoute(INTERNAL_ROUTES.claim, ClaimRequest, async ({ claims }) => ({
      verdicts: await claimNames(db, claims, now()),
    })),
    internalRoute(INTERNAL_ROUTES.releaseClaims, ReleaseClaimsRequest, async ({ claims }) => {
      await releaseClaims(db, claims)
      return {}
    }),
    internalRoute(INTERNAL_ROUTES.readDefinitions, DefinitionsQuery, (query) => readDefinitions(readDb, query)),
  ],
})
