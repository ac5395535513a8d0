import type { Existence, UserLookUp, userProjectorCalls } from '@nextvisit/contracts'
import { type BatchedCall, createBatchedCall, type ServiceClient } from '@nextvisit/service-kit'

export type UserProjector = ReturnType<typeof createUserProjector>

/** Admission's questions to the user projector. */
export function createUserProjector({ admission }: Pick<ServiceClient<typeof userProjectorCalls>, 'admission'>) {
  /**
   * Batched calls by partition. Each waits for its own part of the log, so a lagging partition delays only its own
   * users.
   */
  const lookUps = new Map<number, BatchedCall<UserLookUp, Existence>>()

  function lookUpsIn(partition: number): BatchedCall<UserLookUp, Existence> {
    const lookUp = lookUps.get(partition) ?? createLookUp()
    lookUps.set(partition, lookUp)
    return lookUp
  }

  const createLookUp = () =>
    createBatchedCall(admission.lookUpUsers, {
      tenantOf: ({ organization }) => organization,
      keyOf: ({ userId }) => userId,
    })

  return {
    /** Checks that a user exists, as of the question: the projector answers behind a barrier. */
    lookUp: (user: UserLookUp, deadlineAt: number) => lookUpsIn(user.partition)(user, deadlineAt),
  }
}
