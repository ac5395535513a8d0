import path from 'node:path'
import { catchUp, defineConsumer } from '@nextvisit/consumer'
import { HEADERS } from '@nextvisit/contracts'
import { BEHIND, NOT_FOUND } from '@nextvisit/service-kit'
import packageJson from '../package.json' with { type: 'json' }
import { createGateCounts } from './gate-counts.ts'
import { createProjection } from './projection.ts'
import { createQueueProjection } from './queue-projection.ts'
import { readForms, readOpenCounts, readOpenRows, readQueue, readTriggerCounts } from './queries.ts'

/** The gates that stopped forms in this process, for the call that reads them. */
const gateCounts = createGateCounts(() => Date.now())

/** Decides which forms reach a user, and when. */
export const formTriggerEvaluator = defineConsumer({
  name: 'form-trigger-evaluator',
  directory: path.resolve(import.meta.dirname, '..'),
  version: packageJson.version,
  schema: 'forms',
  opensRecords: true,
  openDb: async (adapter) => new (await import('../generated/prisma/client.ts')).PrismaClient({ adapter }),
  projection: ({ publishReplies }) => createProjection({ publishReplies, onStopped: gateCounts.add }),
  published: (partitions) => createQueueProjection(partitions),
  isAwaited: ({ headers }) => headers[HEADERS.replyTo] !== undefined,

  // Users come from `user-events`, the queue comes from `form-events`. Open offers, the reasons why forms were not queued,
  // and replies are in neither.
  tables: {
    users: 'fold',
    event_occurrences: 'fold',
    form_answers: 'fold',
    queue: {
      notCompared: { offered_at: 'open offers are not in the log. The live value is kept.' },
      comparedAs: { state: `replace(state, 'offered', 'waiting')` },
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

  calls: {
    // For people, who do not need the latest record.
    readQueue: (query, { readDb }) => readQueue(readDb, query),
    readGateCounts: async (query) => gateCounts.read(query),
    readOpenCounts: (query, { readDb }) => readOpenCounts(readDb, query),
    readOpenRows: (query, { readDb }) => readOpenRows(readDb, query),
    readTriggerCounts: (query, { readDb, now }) => readTriggerCounts(readDb, query, now().getTime()),
    readForms: async (query, context) => {
      // An older decision would be a wrong answer.
      if (!(await catchUp(query, context))) return BEHIND
      return (await readForms(context.readDb, query)) ?? NOT_FOUND
    },
  },
})
