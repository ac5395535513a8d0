/** Bodies and answers of the routes that erase users (decisions.md, Erasure). Their keys need `mayErase`. */
import { z } from 'zod'
import { Instant, SlugId, staleFields, Uuid } from '../primitives.ts'
import { BODY_LIMITS, withSeparators } from './body-limits.ts'
import { IdentifyUserBody } from './ingest.ts'

const count = z.number().int().min(0)

/** `POST /v2/admin/erasures`. */
export const ErasureBody = z.object({
  userNames: z
    .array(IdentifyUserBody.shape.userName)
    .min(1)
    .max(BODY_LIMITS.erasedUserNames)
    .describe(`The users, exactly as given to identify-user; at most ${withSeparators(BODY_LIMITS.erasedUserNames)}.`),
  suppress: z
    .boolean()
    .nullish()
    .describe('true: refuse identifies, events, visits and imports of these users from now on. Default: false.'),
})

/** The answer of `POST /v2/admin/erasures`. */
export const ErasureBegun = z.strictObject({
  erasureId: Uuid,
  users: count.describe('The number of distinct users in the request. All of them are erased.'),
  unknown: count.describe('The number of users among them that had no profile.'),
  status: z.literal('running'),
  requestedAt: Instant,
})
export type ErasureBegun = z.infer<typeof ErasureBegun>

/** The places from which an erasure removes a user, in the order in which they usually finish. */
export const ERASURE_STORES = [
  'user-events',
  'user-projector',
  'form-trigger-evaluator',
  'metering',
  'trait-registry',
  'answer-collector',
  'webhook-dispatcher',
  'redis',
  'user-keys',
] as const
export const ErasureStoreName = z.enum(ERASURE_STORES)
export type ErasureStoreName = z.infer<typeof ErasureStoreName>

/**
 * The status of an erasure, and of each of its stores. `incomplete`: it takes longer than usual, because a part is
 * unavailable or lags. The work resumes by itself.
 */
export const ErasureStatus = z.enum(['running', 'complete', 'incomplete'])
export type ErasureStatus = z.infer<typeof ErasureStatus>

export const ErasureStore = z.strictObject({
  store: ErasureStoreName,
  status: ErasureStatus,
  at: Instant.optional().describe('The time when the store finished.'),
  dueAt: Instant.optional().describe(
    'Of a running store: the time by which it finishes. Later, it is incomplete. Absent of user-keys until the keys were counted.',
  ),
  rows: count.describe('user-events: facts; user-keys: destroyed keys; else deleted rows, so far.'),
  because: z.string().optional().describe('The reason why the store has not finished.'),
})
export type ErasureStore = z.infer<typeof ErasureStore>

/** The statement of an erasure that is complete, signed with the key of the installation. */
export const ErasureReceipt = z.strictObject({
  version: z.literal(1),
  erasureId: Uuid,
  organization: SlugId,
  project: SlugId,
  requestedAt: Instant,
  completedAt: Instant,
  suppress: z.boolean(),
  unknown: count.describe('The number of users that had no profile.'),
  users: z.array(
    z.strictObject({
      userId: Uuid,
      partition: count.describe('The partition of user-events with the fact of the erasure.'),
      offset: z
        .string()
        .regex(/^\d{1,19}$/)
        .describe(
          'The offset of that fact: of its first copy, unless the user was erased again meanwhile. A string, because offsets have 64 bits.',
        ),
      keyCount: count.describe('The number of destroyed keys.'),
      keys: z
        .array(
          z.strictObject({
            keyId: Uuid,
            fingerprint: z
              .string()
              .describe('SHA-256 of the stored, encrypted key, in hex. It reveals nothing of the key.'),
          }),
        )
        .describe('The destroyed keys. A receipt lists 4,000 keys at most.'),
    }),
  ),
  stores: z.array(z.strictObject({ store: ErasureStoreName, at: Instant, rows: count })),
  notCovered: z.array(z.string()).describe('What the erasure cannot reach.'),
  publicKey: z.string().describe('The Ed25519 key of the installation: 32 bytes in base64url.'),
  signature: z
    .string()
    .describe('Ed25519 of the canonical JSON (RFC 8785) of all other members: 64 bytes in base64url.'),
})
export type ErasureReceipt = z.infer<typeof ErasureReceipt>

/** An erasure in a list. */
export const ErasureSummary = z.strictObject({
  erasureId: Uuid,
  requestedAt: Instant,
  completedAt: Instant.optional(),
  status: ErasureStatus,
  users: count.describe('The number of users.'),
  unknown: count.describe('The number of users that had no profile.'),
  suppress: z.boolean(),
  stores: z.array(ErasureStore),
})
export type ErasureSummary = z.infer<typeof ErasureSummary>

/** `GET /v2/admin/erasures/{erasureId}`. */
export const ErasureAnswer = z.strictObject({
  ...ErasureSummary.shape,
  receipt: ErasureReceipt.optional().describe('Present once the erasure is complete.'),
})
export type ErasureAnswer = z.infer<typeof ErasureAnswer>

/** `GET /v2/admin/erasures`. */
export const ErasuresPage = z.strictObject({
  erasures: z.array(ErasureSummary).describe('Newest first.'),
  next: z.string().nullable().describe('Pass it as `after` for the next page; null: this is the last page.'),
  ...staleFields,
})
export type ErasuresPage = z.infer<typeof ErasuresPage>

/** `GET /v2/admin/suppressions`. */
export const SuppressionsPage = z.strictObject({
  suppressions: z
    .array(
      z.strictObject({
        hash: z.string().describe('Keyed hash of the user: a guess of the name cannot be compared with it.'),
        since: Instant,
        erasureId: Uuid.describe('The erasure that suppressed the user.'),
      }),
    )
    .describe('Oldest first.'),
  next: z.string().nullable().describe('Pass it as `after` for the next page; null: this is the last page.'),
})
export type SuppressionsPage = z.infer<typeof SuppressionsPage>
