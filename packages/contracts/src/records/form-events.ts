import { z } from 'zod'
import { Environment, Instant, SlugId, Uuid } from '../primitives.ts'
import { AnsweredElements } from './answer-value.ts'
import { answerPersonalMembers, AnswerStatus, deliveryMembers, onlySealed, Sealed } from './user-events.ts'

/** Members of every record about a row of a user's queue. Each is a change of the queue. */
const formFactMembers = {
  id: Uuid.describe('As in `ce_id`. Stable for each change of the queue, so readers drop repeats by it.'),
  organization: SlugId.describe('The organization of the project.'),
  project: SlugId.describe('The project of the user.'),
  userId: Uuid.describe('The user of the queue. The Kafka key.'),
  queuedId: Uuid.describe('The row of the queue: UUIDv5 of record id, received and form id.'),
  formId: SlugId.describe('The form.'),
  at: Instant.describe('Time of the change: the instant of the record or tick that decided it.'),
}

/** The cause of the row in the facts that follow its `FormQueued`. */
const causeOfRow = {
  causeId: Uuid.optional().describe(
    'The record of user-events that queued the form. Absent: an earlier version wrote this record.',
  ),
  causeOffset: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe('As in the `FormQueued`: an erasure covers later copies of this record, too. Absent: unknown.'),
}

export const FormQueued = z
  .object({
    type: z.literal('FormQueued').describe('As in `ce_type`.'),
    ...formFactMembers,
    environment: Environment.describe("The environment of the cause's key."),
    causeId: Uuid.describe('The record of user-events that queued the form.'),
    causeOffset: z
      .number()
      .int()
      .min(0)
      .optional()
      .describe('Its offset in the partition of the user: an erasure deletes what earlier records queued.'),
    priority: z.number().int().describe('Forms with a higher priority are shown first.'),
    showFrom: Instant.describe('Shown no earlier than this.'),
    expiresAt: Instant.optional().describe('Not shown at or after this; absent: never expires.'),
    catalogRevision: z.number().int().describe("Revision of the organization's catalog record at the decision."),
  })
  .describe("A form waits for the user's next visit.")
export type FormQueued = z.infer<typeof FormQueued>

export const FormDelivered = z
  .object({
    type: z.literal('FormDelivered').describe('As in `ce_type`.'),
    ...formFactMembers,
    ...causeOfRow,
    visitId: Uuid.describe('The record of the visit that showed the form.'),
    ...deliveryMembers,
  })
  .describe('The form was shown.')
export type FormDelivered = z.infer<typeof FormDelivered>

export const FormCancelled = z
  .object({ type: z.literal('FormCancelled').describe('As in `ce_type`.'), ...formFactMembers, ...causeOfRow })
  .describe('The form was removed or disabled in the workspace while it waited.')
export type FormCancelled = z.infer<typeof FormCancelled>

export const FormExpired = z
  .object({ type: z.literal('FormExpired').describe('As in `ce_type`.'), ...formFactMembers, ...causeOfRow })
  .describe('A waiting form expired.')
export type FormExpired = z.infer<typeof FormExpired>

/** The effect of an answer on its row. */
export const AnswerOutcome = z.enum(['recorded', 'late', 'unmatched'])
export type AnswerOutcome = z.infer<typeof AnswerOutcome>

const formAnsweredMembers = {
  type: z.literal('FormAnswered').describe('As in `ce_type`.'),
  ...formFactMembers,
  id: Uuid.describe('The id of the `AnswerGiven`, as in `ce_id`. Readers drop repeats by it.'),
  queuedId: Uuid.describe('The answered row of the queue, according to the caller: `offerId` of the `AnswerGiven`.'),
  at: Instant.describe('`received` of the `AnswerGiven`.'),
  causeId: Uuid.optional().describe(
    'The record of user-events that queued the form. Absent: the answer is unmatched, or an earlier version wrote this record.',
  ),
  causeOffset: causeOfRow.causeOffset,
  outcome: AnswerOutcome.describe(
    '`recorded`: the answers count. `late`: the row was ended already, and they change nothing. `unmatched`: this user has ' +
      'no row with this id and form.',
  ),
  status: AnswerStatus.describe('As in the `AnswerGiven`. The first recorded `finished` or `dismissed` ends the row.'),
  revision: z.number().int().min(1).describe('As in the `AnswerGiven`.'),
  language: z.string().optional().describe('As in the `AnswerGiven`. Absent: not given.'),
  environment: Environment.describe("The environment of the answer's key."),
  elements: AnsweredElements.describe('As in the `AnswerGiven`: the answered elements, with their types.'),
}

/** The outcome of an answer whose answers are readable. */
export const FormAnswered = z.object({ ...formAnsweredMembers, ...answerPersonalMembers })
export type FormAnswered = z.infer<typeof FormAnswered>

/** The outcome of an answer as it is in the log. */
export const SealedFormAnswered = z
  .object({
    ...formAnsweredMembers,
    sealed: Sealed.describe('As in the `AnswerGiven`, unchanged: it opens with the id and userId of this record.'),
    answers: onlySealed,
  })
  .describe('An answer to a form has reached its row, or has none. Sealed: `answers`.')
export type SealedFormAnswered = z.infer<typeof SealedFormAnswered>

/** The evaluator's answer to a `UserErased`, so that replays of `form-events` end the queue too. */
export const QueueErased = z
  .object({
    type: z.literal('QueueErased').describe('As in `ce_type`.'),
    id: Uuid.describe('As in `ce_id`: stable for each erasure of a user.'),
    organization: SlugId.describe('The organization of the project.'),
    project: SlugId.describe('The project of the user.'),
    userId: Uuid.describe('The user. The Kafka key.'),
    at: Instant.describe('When the erasure was requested.'),
    erasureId: Uuid.describe('The erasure.'),
    causeOffset: z
      .number()
      .int()
      .min(0)
      .optional()
      .describe(
        'The offset of the `UserErased` in the partition of the user: a record of a form with a lower one is erased, also a copy that ' +
          'comes after this record. Of `SegmentEntered` and `SegmentLeft`, exactly those with a lower one are erased, wherever they are.',
      ),
    keysUntil: Instant.describe('Data keys of the user that were created until this instant are destroyed.'),
  })
  .describe(
    'The user is erased: waiting, offered and shown forms before this record are deleted, and its answers. All memberships of ' +
      'segments end. The fence of readers of this topic.',
  )
export type QueueErased = z.infer<typeof QueueErased>

/** The cause of a changed membership (forms.md, Changes of membership). */
export const SegmentCause = z.enum(['record', 'time', 'definition'])
export type SegmentCause = z.infer<typeof SegmentCause>

const segmentFactMembers = {
  id: Uuid.describe('As in `ce_id`. Stable for each change of the membership, so readers drop repeats by it.'),
  organization: SlugId.describe('The organization of the project.'),
  project: SlugId.describe('The project of the user.'),
  userId: Uuid.describe('The user. The Kafka key.'),
  segmentId: SlugId.describe('The segment.'),
  at: Instant.describe(
    'When the membership changed. `record`: `received` of the record, or of a later one that was folded before. `time`: the exact instant. ' +
      '`definition`: the instant for which the new definition was first computed.',
  ),
  cause: SegmentCause.describe(
    '`record`: a record of the user. `time`: time alone, such as the end of a window. `definition`: a segment was added, changed or removed.',
  ),
  causeId: Uuid.optional().describe(
    'The record of user-events that changed the membership. Only if `cause` is `record`.',
  ),
  causeOffset: z
    .number()
    .int()
    .min(0)
    .describe(
      'An offset in the partition of the user in user-events: of the record, or of the last one that was folded before a change by a tick. ' +
        'An erasure at a later offset covers the change.',
    ),
  catalogRevision: z
    .number()
    .int()
    .describe("Revision of the organization's catalog record whose segments were computed."),
}

export const SegmentEntered = z
  .object({ type: z.literal('SegmentEntered').describe('As in `ce_type`.'), ...segmentFactMembers })
  .describe(
    'A user became a member of a segment. The last `SegmentEntered` or `SegmentLeft` of both is the membership.',
  )
export type SegmentEntered = z.infer<typeof SegmentEntered>

export const SegmentLeft = z
  .object({ type: z.literal('SegmentLeft').describe('As in `ce_type`.'), ...segmentFactMembers })
  .describe('A user is no longer a member of a segment. An erasure ends memberships without this record.')
export type SegmentLeft = z.infer<typeof SegmentLeft>
