import path from 'node:path'
import { defineConsumer } from '@nextvisit/consumer'
import { DONE } from '@nextvisit/contracts'
import packageJson from '../package.json' with { type: 'json' }
import { claimNames, releaseClaims } from './claims.ts'
import { readDefinitions } from './queries.ts'
import { createProjection } from './projection.ts'

/** Registers the traits and events of every project, and grants claims of new names under the plan's caps. */
export const traitRegistry = defineConsumer({
  name: 'trait-registry',
  directory: path.resolve(import.meta.dirname, '..'),
  version: packageJson.version,
  schema: 'registry',
  openDb: async (adapter) => new (await import('../generated/prisma/client.ts')).PrismaClient({ adapter }),
  projection: (parts) => createProjection(parts),

  // Claims, the rows that lock them, and the marks of ticks are not in the log.
  tables: {
    definitions: 'fold',
    definition_counts: 'fold',
    projects: 'carried',
    claims: 'carried',
    tick_marks: 'carried',
  },

  calls: {
    claim: async ({ questions }, { db, now }) => ({ answers: await claimNames(db, questions, now()) }),
    releaseClaims: async ({ questions }, { db }) => {
      await releaseClaims(db, questions)
      return { answers: questions.map(() => DONE) }
    },
    readDefinitions: (query, { readDb }) => readDefinitions(readDb, query),
  },
})
