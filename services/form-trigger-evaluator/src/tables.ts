import { defineTable } from '@nextvisit/database'
import {
  Decision,
  EventOccurrences,
  FormAnswers,
  IdempotentOutcome,
  QueueRow,
  ShownForm,
  User,
} from '../generated/tables.ts'

// Only the owner of a user's partition writes the user's rows, so upserts replace whole rows.

export const users = defineTable(...User)
export const eventOccurrences = defineTable(...EventOccurrences)
export const formAnswers = defineTable(...FormAnswers)
export const queues = defineTable(...QueueRow)
/** An upsert adds, because a row is written when a form was shown, without reading its count. */
export const shownForms = defineTable(...ShownForm, { times: 'add', lastAt: 'greatest' })
export const decisions = defineTable(...Decision)
export const idempotentOutcomes = defineTable(...IdempotentOutcome)
