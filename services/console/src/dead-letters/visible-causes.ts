import { withoutQuotedError } from '@nextvisit/contracts'
import { MASK } from '../http/mask.ts'

/** Removes the errors that each `cause` of an answer quotes, unless they are visible: errors may quote personal data. */
export function withVisibleCauses<Answer>(answer: Answer, isVisible: boolean): Answer {
  return isVisible ? answer : (masked(answer) as Answer)
}

function masked(answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.map(masked)
  if (typeof answer !== 'object' || answer === null) return answer
  return Object.fromEntries(
    Object.entries(answer).map(([name, member]) => [
      name,
      name === 'cause' && typeof member === 'string' ? withoutQuotedError(member, MASK) : masked(member),
    ]),
  )
}
