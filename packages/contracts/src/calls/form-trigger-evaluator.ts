import { z } from 'zod'
import { Instant, SlugId, Uuid } from '../primitives.ts'
import { FormsReadModel, GateReason } from '../public/form-decisions.ts'
import { Trigger } from '../workspace/organization-config.ts'
import { projectFields, UserQuery } from './call-fields.ts'
import { type CallTable, defineCall } from './define-call.ts'
import { QueueRow, WaitingForm } from '../public/queue-row.ts'

export const QueueAnswer = z.object({ waiting: z.array(WaitingForm) })

/** Maximum number of triggers in one question. */
export const MAX_COUNTED_TRIGGERS = 1_000
const TriggerCountsQuery = UserQuery.extend({ triggers: z.array(Trigger).max(MAX_COUNTED_TRIGGERS) })
export type TriggerCountsQuery = z.infer<typeof TriggerCountsQuery>
/** An event that counted, but triggered no form: it was imported, or too old when it was received. */
const MissedEvent = z.object({ at: Instant, receivedAt: Instant })
export type MissedEvent = z.infer<typeof MissedEvent>
/** One item for each trigger, in order. */
const TriggerCountsAnswer = z.object({
  /** The trigger's count in its window at this moment; null: the trigger counts nothing. */
  counts: z.array(z.number().int().nullable()),
  /** The last event of its count that triggered nothing; null: none did so. */
  missed: z.array(MissedEvent.nullable()),
})
export type TriggerCountsAnswer = z.infer<typeof TriggerCountsAnswer>

/** Maximum number of forms in one question. */
const MAX_FORMS_ASKED = 100
const formIds = z.array(SlugId).max(MAX_FORMS_ASKED)

/** How often each gate stopped a form; absent: never. */
const GateCounts = z.partialRecord(GateReason, z.number().int())
export type GateCounts = z.infer<typeof GateCounts>

const GateCountsQuery = z.object({ ...projectFields, formIds, hours: z.number().int().min(1).max(24) })
export type GateCountsQuery = z.infer<typeof GateCountsQuery>
const GateCountsAnswer = z.object({
  /** Start of the counted time; later than asked for if this process started later. */
  since: Instant,
  /** In the order of the question. */
  forms: z.array(GateCounts),
})
export type GateCountsAnswer = z.infer<typeof GateCountsAnswer>

const OpenCountsQuery = z.object({
  ...projectFields,
  formIds,
  /** Of each form; a higher bound costs more. */
  countUpTo: z.number().int().min(1).max(20_000),
})
export type OpenCountsQuery = z.infer<typeof OpenCountsQuery>
export const OpenCountsAnswer = z.object({
  /** In the order of the question. */
  forms: z.array(
    z.object({
      count: z.number().int(),
      /** There are more than `countUpTo`. */
      isMore: z.boolean(),
      oldestAt: Instant.nullable(),
    }),
  ),
})
export type OpenCountsAnswer = z.infer<typeof OpenCountsAnswer>

/** Position of a row in the order of the pages. */
const position = z.object({ queuedAt: Instant, queuedId: Uuid })
const OpenRowsQuery = z.object({
  ...projectFields,
  formId: SlugId,
  limit: z.number().int().min(1).max(200),
  after: position.optional(),
})
export type OpenRowsQuery = z.infer<typeof OpenRowsQuery>
/** A form that waits for a user, or is offered to one. */
export const OpenFormRow = z.object({
  queuedId: Uuid,
  userId: Uuid,
  state: QueueRow.shape.state.extract(['waiting', 'offered']),
  queuedAt: Instant,
  showFrom: Instant,
  expiresAt: Instant.nullable(),
})
export type OpenFormRow = z.infer<typeof OpenFormRow>
/** The oldest first. `after: next` asks for the following page. */
const OpenRowsAnswer = z.object({ rows: z.array(OpenFormRow), next: position.nullable() })
export type OpenRowsAnswer = z.infer<typeof OpenRowsAnswer>

export const formTriggerEvaluatorCalls = {
  /** Reads one user's waiting forms. */
  readQueue: defineCall({ path: '/internal/queue/read', question: UserQuery, answer: QueueAnswer }),
  /** Explains which forms reached one user, and why others did not. Not found: no record identifies the user. */
  readForms: defineCall({ path: '/internal/forms/read', question: UserQuery, answer: FormsReadModel }),
  /** Counts the events of one user that these triggers count. */
  readTriggerCounts: defineCall({
    path: '/internal/triggers/counts/read',
    question: TriggerCountsQuery,
    answer: TriggerCountsAnswer,
  }),
  /** Counts how often gates stopped forms recently, over all users. Each process knows only its own decisions. */
  readGateCounts: defineCall({
    path: '/internal/forms/gates/read',
    question: GateCountsQuery,
    answer: GateCountsAnswer,
  }),
  /** Counts the open rows of these forms over all users. */
  readOpenCounts: defineCall({
    path: '/internal/forms/open/counts/read',
    question: OpenCountsQuery,
    answer: OpenCountsAnswer,
  }),
  readOpenRows: defineCall({ path: '/internal/forms/open/rows/read', question: OpenRowsQuery, answer: OpenRowsAnswer }),
} satisfies CallTable
