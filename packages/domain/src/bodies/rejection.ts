import type { RuleName } from './name-rules.ts'

/** A rule that a body may break: parsers reject by it, and the API's document shows it. */
export interface BodyRule extends RuleName {
  /** What the caller reads: names the member that is wrong and says what would be right. */
  readonly message: string
  /** Which input breaks the rule, in the words of the API's document. */
  readonly when: string
}

/** Why a body is not taken. */
export interface Rejection extends Partial<RuleName> {
  readonly outcome: 'rejected'
  readonly message: string
}

export function reject({ message, rule, member }: Omit<Rejection, 'outcome'>): Rejection {
  return { outcome: 'rejected', message, ...(rule !== undefined && { rule }), ...(member !== undefined && { member }) }
}
