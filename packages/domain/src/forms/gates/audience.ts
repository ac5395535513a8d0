import type { Condition } from '@nextvisit/contracts'
import { leavesOf } from '../../conditions/condition-tree.ts'
import { resultInWords } from '../../conditions/condition-words.ts'
import { compileCondition } from '../../conditions/conditions.ts'
import { excerptOf } from './excerpt-of.ts'
import type { Gate } from './gate.ts'

const ALL_USERS: Condition = { all: [] }

/** Passes for users who meet the form's condition. */
export const audience: Gate<'audience'> = {
  atVisit: true,
  reasons: { 'not-in-audience': 'the user was not in the audience' },
  setting: () => undefined,
  describe: (result) => resultInWords('the user', result),
  compile: ({ audience: condition = ALL_USERS }) => {
    const evaluate = compileCondition(condition)
    return {
      reason: 'not-in-audience',
      needs: leavesOf(condition),
      check: (user, now, isMember) => {
        const { holds, leaf, negated, actual } = evaluate(user, now.ms, isMember)
        return { gate: 'audience', passed: holds, compared: { leaf, negated, actual: excerptOf(actual) } }
      },
    }
  },
}
