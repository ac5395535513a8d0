import { z } from 'zod'
import { BODY_LIMITS } from '../public/body-limits.ts'
import { SuppressionsPage } from '../public/erasures.ts'
import { KeptRefusal } from '../public/refusals.ts'
import { Instant, Uuid } from '../primitives.ts'
import { projectFields, UserQuery } from './call-fields.ts'
import { type CallTable, defineCall } from './define-call.ts'

/** Maximum number of refusals in one answer. */
export const MAX_REFUSALS_ASKED = 1_000
/** Asks for the latest refusals of one project. `userId`: only those that name this user. */
export const RefusalsQuery = z.object({
  ...projectFields,
  limit: z.number().int().min(1).max(MAX_REFUSALS_ASKED),
  userId: Uuid.optional(),
})
export type RefusalsQuery = z.infer<typeof RefusalsQuery>
/** Newest first; `null` while Redis, which keeps the refusals of all gateways, does not answer. */
export const RefusalsAnswer = z.object({ refusals: z.array(KeptRefusal).nullable() })
export type RefusalsAnswer = z.infer<typeof RefusalsAnswer>

/** Asks for an erasure. `erasureId`: of an earlier attempt. Its erasure is returned if it was begun within 24 hours. */
export const ErasureQuestion = z.object({
  ...projectFields,
  userIds: z.array(Uuid).min(1).max(BODY_LIMITS.erasedUserNames),
  suppress: z.boolean(),
  erasureId: Uuid.optional(),
})
export type ErasureQuestion = z.infer<typeof ErasureQuestion>
/** `unavailable`: existing users cannot be told from unknown ones, or the log is unavailable. Ask again with the `erasureId`. */
const ErasureVerdict = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.literal('requested'),
    erasureId: Uuid,
    requestedAt: Instant,
    users: z.number().int(),
    unknown: z.number().int(),
  }),
  z.object({ outcome: z.literal('unavailable'), erasureId: Uuid }),
])
export type ErasureVerdict = z.infer<typeof ErasureVerdict>
/** `unknown`: the user is not suppressed. */
const LiftVerdict = z.object({ outcome: z.enum(['lifted', 'unknown', 'unavailable']) })
export type LiftVerdict = z.infer<typeof LiftVerdict>

const SuppressionsQuestion = z.object({
  ...projectFields,
  limit: z.number().int().min(1).max(1_000),
  /** `next` of the previous page. */
  after: z.string().max(40).optional(),
})
/** `page`: null while the gateway, or the key of the hashes, is not ready. */
const SuppressionsAnswer = z.object({ page: SuppressionsPage.nullable() })

/** Maximum number of users in one question about erasures. */
const MAX_ERASURES_KNOWN = 1_000
const KnownErasuresQuestion = z.object({ ...projectFields, userIds: z.array(Uuid).max(MAX_ERASURES_KNOWN) })
const KnownErasure = z.object({
  isSuppressed: z.boolean(),
  /** `keysUntil` of the last erasure. Absent: none within 8 days. */
  keysUntil: Instant.optional(),
})
/** `users`: in the order of the question; null while the gateway has not read the erasures. */
const KnownErasuresAnswer = z.object({ users: z.array(KnownErasure).nullable() })

export const gatewayCalls = {
  readRefusals: defineCall({ path: '/internal/refusals/read', question: RefusalsQuery, answer: RefusalsAnswer }),
  /** Begins an erasure. Operators ask; `POST /v2/admin/erasures` does the same for keys. */
  requestErasure: defineCall({
    path: '/internal/erasures/request',
    question: ErasureQuestion,
    answer: ErasureVerdict,
  }),
  readSuppressions: defineCall({
    path: '/internal/suppressions/read',
    question: SuppressionsQuestion,
    answer: SuppressionsAnswer,
  }),
  /** Reads the erasures that were requested for these users, also while other services lag. */
  readKnownErasures: defineCall({
    path: '/internal/erasures/known/read',
    question: KnownErasuresQuestion,
    answer: KnownErasuresAnswer,
  }),
  /** Ends the suppression of a user. */
  liftSuppression: defineCall({ path: '/internal/suppressions/lift', question: UserQuery, answer: LiftVerdict }),
} satisfies CallTable
