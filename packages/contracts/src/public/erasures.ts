import { z } from 'zod'
import { Instant, SlugId, Uuid } from '../primitives.ts'

const count = z.number().int().min(0)

/** The places from which an erasure removes a user, in the order in which they usually finish. */
export const ERASURE_STORES = [
  'user-events',
  'user-projector',
  'form-trigger-evaluator',
  'metering',
  'trait-registry',
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
        .describe('The offset of that fact. A string, because offsets have 64 bits.'),
      keyCount: count.describe('The number of destroyed keys.'),
      keys: z
        .array(z.strictObject({ keyId: Uuid, fingerprint: z.string() }))
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
})
export type ErasuresPage = z.infer<typeof ErasuresPage>
