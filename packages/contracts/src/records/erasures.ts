import { z } from 'zod'
import { Instant, SlugId, Uuid } from '../primitives.ts'

/** Maximum number of users of an erasure. */
export const MAX_ERASED_USERS = 1_000

/** Members of every record on `erasures`. */
const erasureFactMembers = {
  organization: SlugId.describe('The organization of the project.'),
  project: SlugId.describe('The project of the users.'),
}

export const ErasureRequested = z
  .object({
    type: z.literal('ErasureRequested').describe('As in `ce_type`.'),
    id: Uuid.describe(
      'The erasureId, as in `ce_id`. UUIDv7, or UUIDv5 if an `Idempotency-Key` was given. The Kafka key.',
    ),
    ...erasureFactMembers,
    received: Instant.describe("The gateway's clock once it has read the request."),
    newestKeyAt: Instant.optional().describe(
      'The instant of the newest data key of these users. Absent, unless it is later than `received`.',
    ),
    userIds: z.array(Uuid).min(1).max(MAX_ERASED_USERS).describe('The users, each once. No names.'),
    unknown: z.number().int().min(0).describe('The number of users that had no profile.'),
    suppress: z.boolean().describe('Records of these users are refused until `SuppressionLifted`.'),
  })
  .describe('An erasure of users is requested.')
export type ErasureRequested = z.infer<typeof ErasureRequested>

export const SuppressionLifted = z
  .object({
    type: z.literal('SuppressionLifted').describe('As in `ce_type`.'),
    id: Uuid.describe('As in `ce_id`.'),
    ...erasureFactMembers,
    userId: Uuid.describe('The user, who may be identified again. The Kafka key.'),
    received: Instant.describe("The gateway's clock once it has read the request."),
  })
  .describe('The suppression of a user has ended.')
export type SuppressionLifted = z.infer<typeof SuppressionLifted>

export const ErasureCompleted = z
  .object({
    type: z.literal('ErasureCompleted').describe('As in `ce_type`.'),
    id: Uuid.describe('As in `ce_id`: stable for each erasure.'),
    ...erasureFactMembers,
    erasureId: Uuid.describe('The erasure. The Kafka key.'),
    at: Instant.describe('When every store had finished.'),
    receipt: z.string().describe('The signed receipt, as JSON.'),
  })
  .describe('Every store has finished an erasure.')
export type ErasureCompleted = z.infer<typeof ErasureCompleted>
