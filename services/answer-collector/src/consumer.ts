import path from 'node:path'
import { catchUp, defineConsumer, type HandlerParts, READ_BARRIER_WITHIN_MS, staleUnless } from '@nextvisit/consumer'
import { TOO_MANY_DAYS } from '@nextvisit/contracts'
import { BEHIND, type CallContext, NOT_FOUND } from '@nextvisit/service-kit'
import packageJson from '../package.json' with { type: 'json' }
import { createProjection } from './projection.ts'
import {
  isCounted,
  readFormAnswers,
  readFormDays,
  readFormFunnels,
  readFormResults,
  readOfferAnswers,
} from './queries.ts'

/** Collects the answers to forms, and counts their steps and values. */
export const answerCollector = defineConsumer({
  name: 'answer-collector',
  directory: path.resolve(import.meta.dirname, '..'),
  version: packageJson.version,
  schema: 'answers',
  opensRecords: true,
  openDb: async (adapter) => new (await import('../generated/prisma/client.ts')).PrismaClient({ adapter }),
  projection: (parts) => createProjection(parts),

  // Answers of erased users are not in the log any more: their keys are destroyed.
  tables: {
    offers: 'fold',
    funnels: 'fold',
    funnel_days: 'fold',
    answer_times: 'fold',
    answer_time_days: 'fold',
    elements: 'fold',
    element_days: 'fold',
    erased_elements: 'carried',
    erased_element_days: 'carried',
  },

  calls: {
    readFormFunnels: async (query, context) => {
      const isCaughtUp = query.after !== undefined || (await hasCaughtUp(context))
      return { ...(await readFormFunnels(context.readDb, query)), ...staleUnless(isCaughtUp) }
    },
    readFormResults: async (query, context) => {
      const isCaughtUp = await hasCaughtUp(context)
      if (!(await isCounted(context.readDb, query))) return NOT_FOUND
      const results = await readFormResults(context.readDb, query)
      return results === TOO_MANY_DAYS ? TOO_MANY_DAYS : { ...results, ...staleUnless(isCaughtUp) }
    },
    readFormDays: async (query, context) => {
      const isCaughtUp = await hasCaughtUp(context)
      return { days: await readFormDays(context.readDb, query), ...staleUnless(isCaughtUp) }
    },
    readFormAnswers: async (query, context) => {
      // Later pages contain older answers.
      const isCaughtUp = query.after !== undefined || (await hasCaughtUp(context))
      if (!(await isCounted(context.readDb, query))) return NOT_FOUND
      return { ...(await readFormAnswers(context.readDb, query)), ...staleUnless(isCaughtUp) }
    },
    readOfferAnswers: async (query, context) => {
      // A finished offer does not change, so a collector that is behind can answer.
      const finished = await readOfferAnswers(context.readDb, query)
      if (finished) return finished
      const isCaughtUp = await catchUp(query, { ...context, withinMs: READ_BARRIER_WITHIN_MS })
      return (await readOfferAnswers(context.readDb, query)) ?? (isCaughtUp ? NOT_FOUND : BEHIND)
    },
  },
})

/** Waits for the records on `form-events`. The evaluator may still have answers to publish. */
function hasCaughtUp(context: HandlerParts & CallContext): Promise<boolean> {
  return catchUp('all users', { ...context, withinMs: READ_BARRIER_WITHIN_MS })
}
