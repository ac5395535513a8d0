import { z } from 'zod'
import { Environment, Instant, KeyKind, SlugId, Uuid } from '../primitives.ts'

/** A duplicate of a record is dropped if it was received less than this long after the first (decisions.md, Retries). */
export const DUPLICATE_WINDOW_MS = 24 * 3_600_000

/** Members of every record on `user-events`. */
export const userFactMembers = {
  id: Uuid.describe(
    "The record's id, as in `ce_id`; equal to the answer's `X-Request-Id`. UUIDv7, or UUIDv5 if an `Idempotency-Key` " +
      'was given or the record was imported. Readers drop duplicates by it.',
  ),
  organization: SlugId.describe('The organization of the project.'),
  project: SlugId.describe('The project of the user.'),
  userId: Uuid.describe("UUIDv5 of the userName in the project's namespace. The Kafka key."),
  received: Instant.describe(
    "The gateway's clock once it has read the request; for an import, its clock once it has read the line.",
  ),
}

/** A check that admission skipped because a service did not answer in time (decisions.md, Busy and broken). */
export const Unchecked = z.enum(['user', 'mau', 'event-limit', 'event-name', 'traits'])
export type Unchecked = z.infer<typeof Unchecked>

/** Members that describe the request: an identify or a tracked event. */
export const requestMembers = {
  environment: Environment.describe("The key's environment: P is production, T is test. Only metering differs."),
  source: KeyKind.describe('The kind of key: admin (secret) or sdk (publishable, for an app or a page).'),
  keyed: z
    .boolean()
    .describe('An `Idempotency-Key` was given: the record may be in the log twice, less than 24 h apart.'),
  userName: z.string().describe("The customer's own name for the user, exactly as given."),
  unchecked: z
    .array(Unchecked)
    .describe(
      'The checks that could not be made in time. The record was admitted without them, and these limits were not enforced.',
    ),
  imported: z
    .literal(true)
    .optional()
    .describe(
      'History from `nextvisit import`: it fills in unknown values and triggers nothing. Absent in every other ' +
        'record.',
    ),
}
