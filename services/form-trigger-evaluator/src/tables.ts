import { defineTable } from '@nextvisit/database'
import { Decision, EventOccurrences, IdempotentOutcome, QueueRow, ShownForm, User } from '../generated/tables.ts'

// Only the owner of a user's partition writes their rows, so whole rows replace each other.

export const users = defineTable(...User)
export const eventOccurrences = defineTable(...EventOccurrences)
export const queues = defineTable(...QueueRow)
/** Adds: a row is written when a form was shown, not when its count is known. */
export const shownForms = defineTable(...ShownForm, { times: 'add', lastAt: 'greatest' })
export const decisions = defineTable(...Decision)
export const idempotentOutcomes = defineTable(...IdempotentOutcome)
