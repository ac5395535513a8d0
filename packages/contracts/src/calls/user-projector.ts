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

/** The last erasure of a user that the projector has folded (decision 18, The fence rule). */
const UserFence = z.object({
  /** Offset of the `UserErased` in the user's partition. */
  offset: z.string().regex(/^\d{1,18}$/, 'must be a whole number'),
  keysUntil: Instant,
  erasureId: Uuid,
})
export type UserFence = z.infer<typeof UserFence>

/** `userName`: null: no record identifies the user. `fence`: absent: the user was never erased. */
const NamedUser = z.object({ userName: z.string().nullable(), fence: UserFence.optional() })
export type NamedUser = z.infer<typeof NamedUser>

/** Maximum number of users in one question about keys. */
const MAX_USERS_OF_KEYS = 200
const UserKeysQuery = z.object({ ...projectFields, userIds: z.array(Uuid).max(MAX_USERS_OF_KEYS) })
export type UserKeysQuery = z.infer<typeof UserKeysQuery>
/** The keys of a user that are not destroyed, wrapped by NEXTVISIT_SECRET_KEY. They may include keys that the fence covers. */
const UserKeys = z.object({
  userId: Uuid,
  fence: UserFence.optional(),
  keys: z.array(z.object({ keyId: Uuid, wrapped: z.string() })),
})
export type UserKeys = z.infer<typeof UserKeys>
/** In the order of the question. */
const UserKeysAnswer = z.object({ users: z.array(UserKeys), ...staleFields })
export type UserKeysAnswer = z.infer<typeof UserKeysAnswer>

/** `unknown`: the user's partition is not folded far enough to say that the user is missing. `traits`: absent unless the user exists. */
const KnownTraits = z.object({
  existence: z.enum(['exists', 'missing', 'unknown']),
  traits: UserReadModel.shape.traits.optional(),
  ...staleFields,
})
export type KnownTraits = z.infer<typeof KnownTraits>

export const userProjectorCalls = {
  /** Checks that users exist, behind the barrier of their partition, and reads their data keys. */
  lookUpUsers: defineBatchedCall({ path: '/internal/users/look-up', question: UserLookUp, answer: UserLookedUp }),
  /** Not found: the user does not exist. */
  readUser: defineCall({ path: '/internal/users/read', question: UserQuery, answer: UserReadModel }),
  /** Reads the traits of users, as `readUser` does. */
  readTraits: defineBatchedCall({ path: '/internal/users/traits/read', question: UserQuery, answer: KnownTraits }),
  readUserNames: defineBatchedCall({ path: '/internal/users/names/read', question: UserQuery, answer: NamedUser }),
  /** Reads the keys that open records of these users. */
  readUserKeys: defineCall({ path: '/internal/users/keys/read', question: UserKeysQuery, answer: UserKeysAnswer }),
  /** Counts the members of these segments. */
  readSegments: defineCall({ path: '/internal/segments/read', question: SegmentsQuery, answer: SegmentsAnswer }),
  readSegmentMembers: defineCall({
    path: '/internal/segments/members/read',
    question: SegmentMembersQuery,
    answer: SegmentMembersAnswer,
  }),
} satisfies CallTable
