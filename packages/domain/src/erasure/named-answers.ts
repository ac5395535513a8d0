import type { CollectedAnswer, FormAnswer, NamedUser, ProjectRef, UserRef } from '@nextvisit/contracts'

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
 *
 * The fold of an erasure deletes the answers before it, and later ones are of a user who returned. So an answer is shown once its
 * collector has folded the last erasure that anyone knows.
 *
 * This compares instants that the gateway and the user eraser compute from the same requests. Both must compute the same: a later one
 * of the gateway hides answers of a user who returned, until the gateway forgets it.
 */
export function nameAnswers(
  answers: readonly CollectedAnswer[],
  users: readonly UserRef[],
  named: readonly NamedUser[],
  erasures: KnownErasures,
): readonly FormAnswer[] {
  const known = new Map(users.map((user, index) => [user.userId, knownUser(user, named[index], erasures)]))
  return answers.flatMap(({ answerId, userId, erasedUntil, ...rest }) => {
    const user = known.get(userId)
    const collectedUntilMs = untilMsOf(erasedUntil)
    if (!user || user.isSuppressed || collectedUntilMs < user.erasedUntilMs) return []
    // Until the projector has folded the erasure, its name is that of the erased user.
    const userName = user.foldedUntilMs < collectedUntilMs ? null : user.userName
    return [{ answerId, userId, userName, ...rest }]
  })
}

function knownUser(user: UserRef, { userName, fence }: NamedUser = { userName: null }, erasures: KnownErasures) {
  const foldedUntilMs = untilMsOf(fence?.keysUntil)
  const erasedUntilMs = Math.max(foldedUntilMs, erasures.keysUntilOf(user.userId) ?? NEVER)
  return { userName, foldedUntilMs, erasedUntilMs, isSuppressed: erasures.isSuppressed(user) }
}

const NEVER = Number.NEGATIVE_INFINITY

/** `keysUntil` of a user's erasures only grows. */
function untilMsOf(keysUntil: string | undefined): number {
  return keysUntil === undefined ? NEVER : Date.parse(keysUntil)
}
