/** The erasures that a writer of sealed records knows of (decision 18, The fence rule). */
export interface Fences {
  /**
   * Returns `keysUntil` of the user's last erasure, ms since the epoch: older keys are destroyed, and a new one must be later.
   * undefined: no erasure is known. An erasure must stay known for longer than a copy of a key lives in Redis: 8 days.
   */
  readonly keysUntilOf: (userId: string) => number | undefined
  /**
   * Calls the listener with the users of each erasure, once `keysUntilOf` knows it. A cache without expiry must forget them then: it may
   * keep an entry for longer than the erasure stays known.
   */
  readonly onErased: (listener: (userIds: readonly string[]) => void) => void
}
