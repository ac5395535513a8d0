import {
  type Existence,
  LookUpUsersAnswer,
  SegmentMembersAnswer,
  type SegmentMembersQuery,
  SegmentsAnswer,
  type SegmentsQuery,
  type UserLookUp,
  type UserQuery,
  UserReadModel,
} from '@nextvisit/contracts'
import type { BatchedCall, ServiceClient } from '@nextvisit/service-kit'

export type UserProjector = ReturnType<typeof createUserProjector>

/** The user projector: who exists, read models of users, segments. */
export function createUserProjector({ batched, read, stop }: ServiceClient) {
  /** By partition. Each waits for its own part of the log: one that lags delays nobody else's users. */
  const lookUps = new Map<number, BatchedCall<UserLookUp, Existence>>()

  function lookUpsIn(partition: number): BatchedCall<UserLookUp, Existence> {
    const lookUp = lookUps.get(partition) ?? createLookUp()
    lookUps.set(partition, lookUp)
    return lookUp
  }

  const createLookUp = () =>
    batched({
      route: 'lookUpUsers',
      tenantOf: ({ organization }) => organization,
      keyOf: ({ userId }) => userId,
      bodyOf: (users: readonly UserLookUp[]) => ({ users }),
      schema: LookUpUsersAnswer,
      answersOf: ({ users }) => users,
    })

  return {
    stop,
    /** Whether a user exists, as of the question: the projector answers behind a barrier. */
    lookUp: (user: UserLookUp, deadlineAt: number) => lookUpsIn(user.partition)(user, deadlineAt),
    readUser: (query: UserQuery, deadlineAt: number) => read('readUser', query, UserReadModel, deadlineAt),
    readSegments: (query: SegmentsQuery, deadlineAt: number) => read('readSegments', query, SegmentsAnswer, deadlineAt),
    readSegmentMembers: (query: SegmentMembersQuery, deadlineAt: number) =>
      read('readSegmentMembers', query, SegmentMembersAnswer, deadlineAt),
  }
}
