import { z } from 'zod'
import { Instant, SlugId, staleFields, Uuid } from '../primitives.ts'
import { SegmentMember, UserReadModel } from '../public/user-read-model.ts'
import { projectFields, UserQuery } from './call-fields.ts'
import { type CallTable, defineBatchedCall, defineCall } from './define-call.ts'

const UserLookUp = UserQuery.extend({ partition: z.number().int().min(0) })
export type UserLookUp = z.infer<typeof UserLookUp>
const UserLookedUp = z.object({
  /** `unknown`: the user's partition is not folded far enough to say that the user is missing. */
  existence: z.enum(['exists', 'missing', 'unknown']),
  /** The user's newest data key, wrapped. Absent: none is known, or all are destroyed. */
  key: z.object({ keyId: Uuid, wrapped: z.string() }).optional(),
  /** Keys that were created until this instant are destroyed. Absent: the user was never erased, as far as this is folded. */
  keysUntil: Instant.optional(),
})
export type UserLookedUp = z.infer<typeof UserLookedUp>

const SegmentsQuery = z.object({
  ...projectFields,
  /** `fingerprint`: of the condition that the caller knows. The answer reports the progress of this condition only. */
  segments: z.array(z.object({ id: SlugId, fingerprint: z.string() })).max(1_000),
})
export type SegmentsQuery = z.infer<typeof SegmentsQuery>
const SegmentsAnswer = z.object({
  /** In the order of the question. */
  segments: z.array(z.object({ members: z.number().int(), usersComputed: z.number().int() })),
  usersTotal: z.number().int(),
  ...staleFields,
})
export type SegmentsAnswer = z.infer<typeof SegmentsAnswer>

const SegmentMembersQuery = z.object({
  ...projectFields,
  segmentId: SlugId,
  limit: z.number().int().min(1).max(1_000),
  /** The last userId of the previous page. */
  after: Uuid.optional(),
})
export type SegmentMembersQuery = z.infer<typeof SegmentMembersQuery>
const SegmentMembersAnswer = z.object({ users: z.array(SegmentMember), next: z.string().nullable(), ...staleFields })
export type SegmentMembersAnswer = z.infer<typeof SegmentMembersAnswer>

/** Maximum number of users in one question about names. */
const MAX_NAMES_ASKED = 200
const UserNamesQuery = z.object({ ...projectFields, userIds: z.array(Uuid).max(MAX_NAMES_ASKED) })
export type UserNamesQuery = z.infer<typeof UserNamesQuery>
/** In the order of the question; null: no record identifies the user. */
const UserNamesAnswer = z.object({ userNames: z.array(z.string().nullable()) })
export type UserNamesAnswer = z.infer<typeof UserNamesAnswer>

export const userProjectorCalls = {
  /** Checks that users exist, behind the barrier of their partition, and reads their data keys. */
  lookUpUsers: defineBatchedCall({ path: '/internal/users/look-up', question: UserLookUp, answer: UserLookedUp }),
  /** Not found: the user does not exist. */
  readUser: defineCall({ path: '/internal/users/read', question: UserQuery, answer: UserReadModel }),
  readUserNames: defineCall({ path: '/internal/users/names/read', question: UserNamesQuery, answer: UserNamesAnswer }),
  /** Counts the members of these segments. */
  readSegments: defineCall({ path: '/internal/segments/read', question: SegmentsQuery, answer: SegmentsAnswer }),
  readSegmentMembers: defineCall({
    path: '/internal/segments/members/read',
    question: SegmentMembersQuery,
    answer: SegmentMembersAnswer,
  }),
} satisfies CallTable
