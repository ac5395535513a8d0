import {
  LookUpUsersAnswer,
  SegmentMembersAnswer,
  type SegmentMembersQuery,
  SegmentsAnswer,
  type SegmentsQuery,
  type UserLookUp,
  type UserQuery,
  UserReadModel,
} from '@nextvisit/contracts'
import { createBatchedCall } from './batched-call.ts'
import type { ServiceClient } from './service-client.ts'

export type UserProjector = ReturnType<typeof createUserProjector>

/** The user projector: who exists, read models of users, segments. */
export function createUserProjector({ call, stop }: ServiceClient) {
  return {
    stop,
    /** Whether a user exists, as of the question: the projector answers behind a barrier. */
    lookUp: createBatchedCall<UserLookUp, boolean>({
      keyOf: ({ userId }) => userId,
      ask: async (users, deadlineAt) => {
        const called = await call('lookUpUsers', { users }, LookUpUsersAnswer, deadlineAt)
        return called.outcome === 'answered' ? called.answer.exists : []
      },
    }),
    readUser: (query: UserQuery, deadlineAt: number) => call('readUser', query, UserReadModel, deadlineAt),
    readSegments: (query: SegmentsQuery, deadlineAt: number) => call('readSegments', query, SegmentsAnswer, deadlineAt),
    readSegmentMembers: (query: SegmentMembersQuery, deadlineAt: number) =>
      call('readSegmentMembers', query, SegmentMembersAnswer, deadlineAt),
  }
}
