import { z } from 'zod'
import { Trigger } from '../workspace/organization-config.ts'
import { UserQuery } from './internal-api.ts'

/** Of one question. */
export const MAX_COUNTED_TRIGGERS = 1_000

/** What the console asks the evaluator (`INTERNAL_ROUTES.readTriggerCounts`): how far a user is with these triggers. */
export const TriggerCountsQuery = UserQuery.extend({ triggers: z.array(Trigger).max(MAX_COUNTED_TRIGGERS) })
export type TriggerCountsQuery = z.infer<typeof TriggerCountsQuery>
/** For each trigger, in order: how often what it counts has happened, in its window at this moment; null: it counts nothing. */
export const TriggerCountsAnswer = z.object({ counts: z.array(z.number().int().nullable()) })
export type TriggerCountsAnswer = z.infer<typeof TriggerCountsAnswer>
