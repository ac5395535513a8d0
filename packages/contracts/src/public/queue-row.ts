import { z } from 'zod'
import { Environment, Instant, SlugId, Uuid } from '../primitives.ts'
import { AnswerStatus } from '../records/user-events.ts'

/**
 * A form in a user's queue (forms.md, The queue). The evaluator stores the row, the rules change it, and answers show
 * parts of it.
 */
export const QueueRow = z.strictObject({
  organization: SlugId,
  project: SlugId,
  userId: Uuid,
  /** UUIDv5 of record id, received and form id: a record that is processed twice queues a form once. */
  id: Uuid,
  formId: SlugId,
  environment: Environment.describe("The environment of the cause's key."),
  state: z.enum(['waiting', 'offered', 'answered', 'delivered', 'expired', 'cancelled']),
  /** Higher is shown first. */
  priority: z.number().int(),
  queuedAt: Instant,
  /** Not shown earlier than this. */
  showFrom: Instant,
  /** Not shown at or after this; null: never expires. */
  expiresAt: Instant.nullable(),
  offeredAt: Instant.nullable().describe('Set while the form is offered.'),
  shownAt: Instant.nullable(),
  /** The visit that showed the form. */
  visitId: Uuid.nullable(),
  startedAt: Instant.nullable().describe('When the first answer with an element was received.'),
  endedAt: Instant.nullable().describe('When the answer that ended the form was received: finished or dismissed.'),
  answerStatus: AnswerStatus.nullable().describe('The status of the latest answer that counts; null: there is none.'),
  causeId: Uuid.describe('The record that queued the form.'),
  /** Its offset in the partition of the user; null: unknown. */
  causeOffset: z.number().int().nullable(),
  /** The revision of the organization's configuration at the decision. */
  catalogRevision: z.number().int(),
})
export type QueueRow = z.infer<typeof QueueRow>

const row = QueueRow.shape

/** A row in the answer of `GET /v2/admin/users/{userName}`, which omits offered forms: they are on their way to the user. */
export const WaitingForm = z.object({
  queuedId: row.id,
  formId: row.formId,
  state: z.literal('waiting'),
  queuedAt: row.queuedAt,
  showFrom: row.showFrom,
  expiresAt: row.expiresAt,
  priority: row.priority,
})
export type WaitingForm = z.infer<typeof WaitingForm>

/** A row in the answer of `GET /v2/admin/users/{userName}/forms`. */
export const QueuedForm = z.strictObject({
  queuedId: row.id,
  formId: row.formId,
  state: row.state,
  queuedAt: row.queuedAt,
  showFrom: row.showFrom,
  expiresAt: row.expiresAt,
  offeredAt: row.offeredAt,
  deliveredAt: row.shownAt,
  answerStatus: row.answerStatus,
  startedAt: row.startedAt,
  endedAt: row.endedAt,
  requestId: row.causeId,
})
export type QueuedForm = z.infer<typeof QueuedForm>
