import { z } from 'zod'
import { Instant, SlugId, Uuid } from '../primitives.ts'

/**
 * Changes by operators, and exports of personal data. `nextvisit changes list --kind` and the console filter by these kinds.
 * Add kinds; never rename one.
 */
export const OPERATOR_CHANGE_KINDS = [
  'workspace.apply',
  'users.erase',
  'suppression.lift',
  'dead-letters.retry',
  'dead-letters.discard',
  'record.set-aside',
  'consumer.replay',
  'consumer.stop-replay',
  'webhook.replay',
  'webhook.retry',
  'webhook.test',
  'webhook.enable',
  'person.export',
  'answers.export',
  'records.export',
  'history.import',
] as const
export const OperatorChangeKind = z.enum(OPERATOR_CHANGE_KINDS)
export type OperatorChangeKind = z.infer<typeof OperatorChangeKind>

/** Maximum number of lines that a change describes itself with. */
export const MAX_CHANGE_LINES = 100
/** Maximum characters of a line, and of every other text of a change. */
export const MAX_CHANGE_TEXT = 300
const MAX_DETAILS = 20

const text = z.string().max(MAX_CHANGE_TEXT)

export const OperatorChangeActor = z.object({
  kind: z
    .enum(['console', 'command', 'key'])
    .describe('console: a person in the console. command: nextvisit. key: an admin key.'),
  name: text.describe('The name of the person, or of the key in the workspace file.'),
  isVerified: z
    .boolean()
    .describe('The name was proved: by an identity provider, or by the key. Otherwise the person has chosen it.'),
  via: text.optional().describe('The way in: `token` or `openid` of the console, or user and host of a command.'),
  subject: text.optional().describe('Id of a person at the identity provider, which stays when the name changes.'),
})
export type OperatorChangeActor = z.infer<typeof OperatorChangeActor>

export const OperatorChangeDetails = z
  .record(z.string().max(64), z.union([text, z.number(), z.boolean()]))
  .refine((details) => Object.keys(details).length <= MAX_DETAILS)
export type OperatorChangeDetails = z.infer<typeof OperatorChangeDetails>

/** Members of both records. */
const changeMembers = {
  kind: OperatorChangeKind.describe('The kind of change.'),
  actor: OperatorChangeActor.describe('The operator who asked for it.'),
  organization: SlugId.optional().describe('The organization. Absent: the whole installation.'),
  project: SlugId.optional().describe('The project.'),
  target: text.optional().describe('The webhook, consumer, form, record or file. Never a userName.'),
  details: OperatorChangeDetails.optional().describe(
    'Further facts by name, such as `erasureId`, `users` or `revision`. No names of users, keys or secrets.',
  ),
}

export const ChangeRequested = z
  .object({
    type: z.literal('ChangeRequested').describe('As in `ce_type`.'),
    id: Uuid.describe(
      'The changeId, as in `ce_id`. An interrupted change that goes on has the same. Readers drop duplicates.',
    ),
    at: Instant.describe('When it was requested. The record is in the log before the change is made.'),
    ...changeMembers,
    lines: z
      .array(text)
      .max(MAX_CHANGE_LINES)
      .optional()
      .describe('The difference that `nextvisit apply` makes: keys and secrets first, then the rest, cut.'),
    moreLines: z.number().int().min(0).optional().describe('Number of lines that were cut.'),
  })
  .describe('An operator has asked for a change.')
export type ChangeRequested = z.infer<typeof ChangeRequested>

export const ChangeEnded = z
  .object({
    type: z.literal('ChangeEnded').describe('As in `ce_type`.'),
    id: Uuid.describe('As in `ce_id`: stable for each change.'),
    changeId: Uuid.describe('The `id` of the `ChangeRequested`.'),
    requestOffset: z
      .string()
      .regex(/^\d{1,19}$/)
      .describe('The offset of the `ChangeRequested`.'),
    requestedAt: Instant.describe('As in the `ChangeRequested`.'),
    at: Instant.describe('When it ended.'),
    outcome: z
      .enum(['made', 'refused', 'failed'])
      .describe(
        'made: in effect, or begun if it takes long. refused: nothing was done. failed: a part may have been done.',
      ),
    reason: text.optional().describe('The code of the refusal or error.'),
    ...changeMembers,
  })
  .describe(
    'A change has ended. Without this record, its outcome is unknown: the process ended first, or it is being made.',
  )
export type ChangeEnded = z.infer<typeof ChangeEnded>
