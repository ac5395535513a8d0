import type {
  AnswerCondition,
  AnswerLeaf,
  Answers,
  AnswerValue,
  ChoiceAnswer,
  TraitScalar,
  TraitValue,
} from '@nextvisit/contracts'
import { compileTree, type ConditionResult, type IsMember } from './condition-tree.ts'
import { valueTest } from './value-test.ts'

/** Returns the value of an answer in conditions. A text in place of an option exists, and equals no option. */
export function comparedValueOf(answer: AnswerValue): TraitValue {
  if (Array.isArray(answer)) return (answer as readonly ChoiceAnswer[]).map(comparedChoiceOf)
  return typeof answer === 'object' ? null : (answer as TraitScalar)
}

function comparedChoiceOf(choice: ChoiceAnswer): TraitScalar {
  return typeof choice === 'string' ? choice : null
}

/** Evaluates a condition on the answers of a record that was received at `now` (ms). */
type EvaluateAnswers = (answers: Answers, now: number) => ConditionResult<AnswerLeaf>

/** Compiles the `where` of a trigger on answers (forms.md, A form). */
export function compileAnswerCondition(condition: AnswerCondition): EvaluateAnswers {
  const evaluate = compileTree<Answers, AnswerLeaf>(condition, (leaf) => {
    const test = valueTest(leaf)
    return (answers, now) => {
      const answer = Object.hasOwn(answers, leaf.answer) ? answers[leaf.answer] : undefined
      const actual = answer === undefined ? undefined : comparedValueOf(answer)
      return { holds: test(actual, now), leaf, negated: false, actual }
    }
  })
  return (answers, now) => evaluate(answers, now, isInNoSegment)
}

const isInNoSegment: IsMember = () => false
