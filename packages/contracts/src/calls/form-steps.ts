import { z } from 'zod'
import { Instant, SlugId, Uuid } from '../primitives.ts'
import { GateReason } from '../records/form-decisions.ts'
import { QueueRow } from './queue-row.ts'

/** What the evaluator says of a project's forms over all users: what became of them lately, and what is open now. */

const place = { organization: SlugId, project: SlugId }
/** Of one question. */
export const MAX_FORMS_ASKED = 100
const formIds = z.array(SlugId).max(MAX_FORMS_ASKED)

/** What becomes of a form after one of its triggers matched: a gate stops it, or it goes into the queue and through it. */
export const FormStep = z.enum(['queued', ...GateReason.options, 'offered', 'delivered', 'expired', 'cancelled'])
export type FormStep = z.infer<typeof FormStep>

/** How often each step was taken; absent: never. */
export const FormStepCounts = z.partialRecord(FormStep, z.number().int())
export type FormStepCounts = z.infer<typeof FormStepCounts>

export const FormStepsQuery = z.object({ ...place, formIds, hours: z.number().int().min(1).max(24) })
export type FormStepsQuery = z.infer<typeof FormStepsQuery>
export const FormStepsAnswer = z.object({
  /** From here on this process has counted; later than asked for where it began later. */
  since: Instant,
  /** In the order asked for. */
  forms: z.array(FormStepCounts),
})
export type FormStepsAnswer = z.infer<typeof FormStepsAnswer>

export const OpenCountsQuery = z.object({
  ...place,
  formIds,
  /** Of each form; counting more would cost more. */
  countUpTo: z.number().int().min(1).max(20_000),
})
export type OpenCountsQuery = z.infer<typeof OpenCountsQuery>
export const OpenCountsAnswer = z.object({
  /** In the order asked for. */
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

/** The place of a row in the order of the page. */
const position = z.object({ queuedAt: Instant, queuedId: Uuid })
export const OpenRowsQuery = z.object({
  ...place,
  formId: SlugId,
  limit: z.number().int().min(1).max(200),
  after: position.optional(),
})
export type OpenRowsQuery = z.infer<typeof OpenRowsQuery>
/** A form that waits for a user, or is offered to one. */
export const OpenRow = z.object({
  queuedId: Uuid,
  userId: Uuid,
  state: QueueRow.shape.state.extract(['waiting', 'offered']),
  queuedAt: Instant,
  showFrom: Instant,
  expiresAt: Instant.nullable(),
})
export type OpenRow = z.infer<typeof OpenRow>
/** The oldest first. Ask for `after: next` to get the page after it. */
export const OpenRowsAnswer = z.object({ rows: z.array(OpenRow), next: position.nullable() })
export type OpenRowsAnswer = z.infer<typeof OpenRowsAnswer>
