import type { AnswerCondition, AnswerLeaf, Answers } from '@nextvisit/contracts'
import { comparedValueOf } from '../users/compared-value.ts'
import { compileTree, type ConditionResult, type IsMember } from './condition-tree.ts'
import { valueTest } from './value-test.ts'

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
