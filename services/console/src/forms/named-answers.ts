import type { CollectedAnswer, FormAnswer, ProjectRef } from '@nextvisit/contracts'
import { nameAnswers, usersOfAnswers } from '@nextvisit/domain'
import type { Dependencies } from '../dependencies.ts'
import { answered, type ApiResult, refuse } from '../http/api-route.ts'

/**
 * Creates a function that adds names to answers, and leaves out those of erased users, as the gateway does. It refuses while the gateway
 * cannot name the erasures, or the user projector the users: then the answers of erased users are unknown.
 */
export function createReadNamedAnswers({ gateway, projector }: Pick<Dependencies, 'gateway' | 'projector'>) {
  return async (
    { organization, project }: ProjectRef,
    answers: readonly CollectedAnswer[],
    signal: AbortSignal,
  ): Promise<ApiResult<readonly FormAnswer[]>> => {
    const users = usersOfAnswers({ organization, project }, answers)
    if (users.length === 0) return answered([])
    const userIds = users.map(({ userId }) => userId)
    const [known, named] = await Promise.all([
      gateway.readKnownErasures({ organization, project, userIds }, signal),
      projector.readUserNames({ questions: users }, signal),
    ])
    if (known.outcome === 'refused') return known
    if (named.outcome === 'refused') return named
    if (known.answer.users === null) return UNKNOWN_ERASURES
    const erasureOf = new Map(userIds.map((userId, index) => [userId, known.answer.users?.[index]]))
    return answered(
      nameAnswers(answers, users, named.answer.answers, {
        isSuppressed: ({ userId }) => erasureOf.get(userId)?.isSuppressed === true,
        keysUntilOf: (userId) => {
          const keysUntil = erasureOf.get(userId)?.keysUntil
          return keysUntil === undefined ? undefined : Date.parse(keysUntil)
        },
      }),
    )
  }
}

const UNKNOWN_ERASURES = refuse(
  503,
  'no-erasures',
  'The gateway has not read the erasures yet, so answers of erased users cannot be left out. Try again soon.',
)
