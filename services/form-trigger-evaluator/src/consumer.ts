import path from 'node:path'
import { catchUp, defineConsumer } from '@nextvisit/consumer'
import { formTriggerEvaluatorCalls } from '@nextvisit/contracts'
import { behind, notFound, serveCalls } from '@nextvisit/service-kit'
import packageJson from '../package.json' with { type: 'json' }
import { createFormSteps } from './form-steps.ts'
import { createFormTriggerProjection } from './form-trigger-projection.ts'
import { createQueueProjection } from './queue-projection.ts'
import { readForms, readQueue, readTriggerCounts } from './read-forms.ts'
import { readOpenCounts, readOpenRows } from './read-open-rows.ts'

/** Decides which forms reach a user, and when. */
export const formTriggerEvaluator = defineConsumer({
  name: 'form-trigger-evaluator',
  directory: path.resolve(import.meta.dirname, '..'),
  version: packageJson.version,
  schema: 'forms',
  hasOutbox: true,
  hasReplies: true,
  openDb: async (adapter) => new (await import('../generated/prisma/client.ts')).PrismaClient({ adapter }),
  memory: () => createFormSteps({ nowMs: () => Date.now() }),
  projection: ({ publishReplies }, steps) =>
    createFormTriggerProjection({ onSteps: steps.add, ...(publishReplies && { publishReplies }) }),
  published: createQueueProjection,

  // Users come from `user-events`, the queue comes from `form-events`. Open offers, the reasons why forms were not queued,
  // and replies are in neither.
  tables: {
    users: 'fold',
    event_occurrences: 'fold',
    queue: {
      folded: (table) => `
        SELECT organization, project, user_id, id, form_id, replace(state, 'offered', 'waiting') AS state, priority,
               queued_at, show_from, expires_at, shown_at, visit_id, cause_id, catalog_revision, partition
        FROM ${table}`,
      carry: (live, rebuilt) => `
        UPDATE ${rebuilt} AS own SET state = 'offered', offered_at = theirs.offered_at
        FROM ${live} AS theirs
        WHERE (own.organization, own.project, own.user_id, own.id)
            = (theirs.organization, theirs.project, theirs.user_id, theirs.id)
          AND own.state = 'waiting' AND theirs.state = 'offered'`,
    },
    shown_forms: 'fold',
    decisions: 'carried',
    idempotent_outcomes: 'carried',
  },

  routes: (parts, steps) =>
    serveCalls(formTriggerEvaluatorCalls, {
      // For people, who do not need the latest record.
      readQueue: (query) => readQueue(parts.readDb, query),
      readFormSteps: async (query) => steps.read(query),
      readOpenCounts: (query) => readOpenCounts(parts.readDb, query),
      readOpenRows: (query) => readOpenRows(parts.readDb, query),
      readTriggerCounts: (query) => readTriggerCounts(parts.readDb, query, Date.now()),
      readForms: async (query, context) => {
        // An older decision would be a wrong answer.
        if (!(await catchUp(parts, query, context))) return behind()
        return (await readForms(parts.readDb, query)) ?? notFound()
      },
    }),
})
