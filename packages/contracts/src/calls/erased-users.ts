import { z } from 'zod'
import { Uuid } from '../primitives.ts'
import { projectFields } from './call-fields.ts'
import { type CallTable, defineCall } from './define-call.ts'

/** Maximum number of users in one question. */
export const MAX_ERASED_USERS_ASKED = 1_000

const Offset = z.string().regex(/^\d{1,18}$/)

/**
 * An erased user, the erasure, and the offset of the `UserErased` in the user's partition. Offsets have 64 bits and travel as strings.
 * Consumers of `form-events` find the `QueueErased` of the erasure by its id.
 */
const ErasedUserQuery = z.object({
  ...projectFields,
  userId: Uuid,
  erasureId: Uuid,
  offset: Offset,
})

/** Served by every consumer. */
export const erasedUserCalls = {
  /** Tells which erasures the consumer has folded. */
  readErasedUsers: defineCall({
    path: '/internal/erased-users/read',
    question: z.object({ users: z.array(ErasedUserQuery).max(MAX_ERASED_USERS_ASKED) }),
    answer: z.object({
      /** In the order of the question. */
      users: z.array(
        z.object({
          userId: Uuid,
          /** The consumer has folded the erasure, and holds no data key that it destroys. */
          isPassed: z.boolean(),
          /** The number of rows that the last erasure of the user has deleted; 0 before it is folded. */
          rows: z.number().int(),
          /** The offset of the `UserErased` that counts, if the last erasure of the user is this one. Otherwise it is unknown. */
          fenceOffset: Offset.nullable().default(null),
        }),
      ),
    }),
  }),
} satisfies CallTable
