import type { CollectedAnswer, FormAnswer, NamedUser, ProjectRef, UserRef } from '@nextvisit/contracts'
import { erasedFromMs } from './fence.ts'

/** Erasures that the caller itself knows, also while services lag. */
interface KnownErasures {
  readonly isSuppressed: (user: UserRef) => boolean
  /** Returns `keysUntil` of the user's last erasure. */
  readonly keysUntilOf: (userId: string) => number | undefined
}

/** Returns the users who gave these answers, each once. */
export function usersOfAnswers({ organization, project }: ProjectRef, answers: readonly CollectedAnswer[]): UserRef[] {
  return [...new Set(answers.map(({ userId }) => userId))].map((userId) => ({ organization, project, userId }))
}

/**
 * Adds the names of users to answers, and leaves out answers of erased users. `users`: {@link usersOfAnswers}; `named`: in
 * their order, as far as the user projector knows them.
 */
export function nameAnswers(
  answers: readonly CollectedAnswer[],
  users: readonly UserRef[],
  named: readonly NamedUser[],
  erasures: KnownErasures,
): readonly FormAnswer[] {
  const shown = new Map(
    users.flatMap((user, index) =>
      erasures.isSuppressed(user) ? [] : [[user.userId, named[index] ?? { userName: null }] as const],
    ),
  )
  return answers.flatMap(({ answerId, userId, ...rest }) => {
    const user = shown.get(userId)
    const isShown = user && isAnswerShown(rest, user, erasures.keysUntilOf(userId))
    return isShown ? [{ answerId, userId, userName: user.userName, ...rest }] : []
  })
}

/**
 * Returns true unless the answer is of a user who is erased. A service that lags still has such answers. Those that began after the
 * request are of the user who returned.
 */
function isAnswerShown(
  { startedAt }: Pick<CollectedAnswer, 'startedAt'>,
  { userName, fence }: NamedUser,
  knownUntilMs = Number.NEGATIVE_INFINITY,
): boolean {
  const foldedUntilMs = fence ? Date.parse(fence.keysUntil) : Number.NEGATIVE_INFINITY
  const untilMs = Math.max(foldedUntilMs, knownUntilMs)
  if (untilMs === Number.NEGATIVE_INFINITY) return true
  // Until the projector has folded the erasure, its name is that of the erased user.
  if (userName === null || foldedUntilMs < untilMs) return false
  return Date.parse(startedAt) > erasedFromMs(untilMs)
}
