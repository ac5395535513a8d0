import type {
  AnswerCondition,
  AnswerLeaf,
  Answers,
  GateOutcome,
  PropertyCondition,
  PropertyLeaf,
} from '@nextvisit/contracts'
import { compileAnswerCondition } from '../../conditions/compared-answer.ts'
import type { ConditionResult } from '../../conditions/condition-tree.ts'
import { resultInWords } from '../../conditions/condition-words.ts'
import { excerptOf } from './excerpt-of.ts'
import type { Moment } from '../../time/moment.ts'
import { compilePropertyCondition, type EventProperties } from '../../conditions/property-conditions.ts'
import type { GateWords } from './gate.ts'

/** The sentences of the gate `where`, which belongs to a trigger and looks at the event or the answers instead of the user. */
export const where: GateWords<'where'> = {
  reasons: {
    'properties-differ': 'the properties of the event are not those that the form asks for',
    'answers-differ': 'the answers are not those that the form asks for',
  },
  describe: (result) => resultInWords(result.leaf && 'answer' in result.leaf ? 'the user' : 'the event', result),
}

/** Compiles the `where` of a trigger: a check of the properties of the event that is evaluated. */
export function compileWhere(condition: PropertyCondition) {
  const evaluate = compilePropertyCondition(condition)
  return (properties: EventProperties, received: Moment): GateOutcome => outcomeOf(evaluate(properties, received.ms))
}

/** Compiles the `where` of a trigger: a check of the answers of the form that was finished. */
export function compileAnswered(condition: AnswerCondition) {
  const evaluate = compileAnswerCondition(condition)
  return (answers: Answers, received: Moment): GateOutcome => outcomeOf(evaluate(answers, received.ms))
}

function outcomeOf({ holds, leaf, negated, actual }: ConditionResult<PropertyLeaf | AnswerLeaf>): GateOutcome {
  return { gate: 'where', passed: holds, compared: { leaf, negated, actual: excerptOf(actual) } }
}
