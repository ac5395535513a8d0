/** A rule that a body may break: parsers reject by it, and the API's document shows it. */
export interface BodyRule {
  /** What the caller reads: names the member that is wrong and says what would be right. */
  readonly message: string
  /** Which input breaks the rule, in the words of the API's document. */
  readonly when: string
  /** `no-user-name` stands apart: the contract answers it like a missing key. */
  readonly reason?: 'no-user-name' | 'invalid'
}

/** Why a body is not taken. */
export interface Rejection extends Required<Omit<BodyRule, 'when'>> {
  readonly outcome: 'rejected'
}

export function reject({ message, reason = 'invalid' }: Omit<BodyRule, 'when'>): Rejection {
  return { outcome: 'rejected', reason, message }
}
