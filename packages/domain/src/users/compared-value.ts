import type { AnswerValue, ChoiceAnswer, TraitScalar, TraitValue } from '@nextvisit/contracts'

/** Returns the value of an answer in conditions. A text in place of an option exists, and equals no option. */
export function comparedValueOf(answer: AnswerValue): TraitValue {
  if (Array.isArray(answer)) return (answer as readonly ChoiceAnswer[]).map(comparedChoiceOf)
  return typeof answer === 'object' ? null : (answer as TraitScalar)
}

function comparedChoiceOf(choice: ChoiceAnswer): TraitScalar {
  return typeof choice === 'string' ? choice : null
}
