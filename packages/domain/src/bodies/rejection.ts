import type { RuleName } from './name-rules.ts'

/** A rule that a body may break: parsers reject by it, and the API's document shows it. */
export interface BodyRule extends Partial<RuleName> {
  /** What the caller reads: names the member that is wrong and says what would be right. */
  readonly message: string
  /** Which input breaks the rule, in the words of the API's document. */
  readonly when: string
  /** The contract answers a missing userName like a missing key, and a message that is too large like a body that is. */
  readonly reason?: 'no-user-name' | 'too-large' | 'invalid'
}

/** Why a body is not taken. */
export interface Rejection extends Omit<BodyRule, 'when'> {
  readonly outcome: 'rejected'
  readonly reason: NonNullable<BodyRule['reason']>
}

export function reject({ message, reason = 'invalid', rule, member }: Omit<BodyRule, 'when'>): Rejection {
  const name = { ...(rule !== undefined && { rule }), ...(member !== undefined && { member }) }
  return { outcome: 'rejected', reason, message, ...name }
}
