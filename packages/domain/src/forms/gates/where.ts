import type { GateOutcome, PropertyCondition } from '@nextvisit/contracts'
import { resultInWords } from '../../conditions/condition-words.ts'
import { excerptOf } from './excerpt-of.ts'
import type { Moment } from '../../time/moment.ts'
import { compilePropertyCondition, type EventProperties } from '../../conditions/property-conditions.ts'
import type { GateWords } from './gate.ts'

/** The sentences of the gate `where`, which belongs to a trigger and looks at the event instead of the user. */
export const where: GateWords<'where'> = {
  reasons: { 'properties-differ': 'the properties of the event are not those that the form asks for' },
  describe: (result) => resultInWords('the event', result),
}

/** Compiles the `where` of a trigger: a check of the properties of the event that is evaluated. */
export function compileWhere(condition: PropertyCondition) {
  const evaluate = compilePropertyCondition(condition)
  return (properties: EventProperties, received: Moment): GateOutcome => {
    const { holds, leaf, negated, actual } = evaluate(properties, received.ms)
    return { gate: 'where', passed: holds, compared: { leaf, negated, actual: excerptOf(actual) } }
  }
}
