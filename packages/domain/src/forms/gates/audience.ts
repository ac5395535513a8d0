import type { Condition } from '@nextvisit/contracts'
import { leavesOf } from '../condition-tree.ts'
import { resultInWords } from '../condition-words.ts'
import { compileEvaluator } from '../conditions.ts'
import { excerptOf } from '../excerpt-of.ts'
import type { Gate } from './gate.ts'

const EVERYBODY: Condition = { all: [] }

/** Passes for users who meet the form's condition. */
export const audience: Gate<'audience'> = {
  atVisit: true,
  reasons: { 'not-in-audience': 'the user was not in the audience' },
  describe: (result) => resultInWords('the user', result),
  compile: ({ audience: condition = EVERYBODY }) => {
    const evaluate = compileEvaluator(condition)
    return {
      reason: 'not-in-audience',
      asks: leavesOf(condition),
      check: (user, now, isMember) => {
        const { holds, leaf, negated, actual } = evaluate(user, now.ms, isMember)
        return { gate: 'audience', passed: holds, compared: { leaf, negated, actual: excerptOf(actual) } }
      },
    }
  },
}
