import type { GateOutcome, PropertyCondition } from '@nextvisit/contracts'
import { findingInWords } from '../condition-words.ts'
import { excerptOf } from '../excerpt-of.ts'
import type { Moment } from '../moment.ts'
import { compilePropertyCondition, type Properties } from '../property-conditions.ts'
import type { GateWords } from './gate.ts'

/** The sentences of the gate `where`, which belongs to a trigger and looks at the event instead of the user. */
export const where: GateWords<'where'> = {
  reasons: { 'properties-differ': 'the properties of the event are not those that the form asks for' },
  describe: (finding) => findingInWords('the event', finding),
}

/** Checks the properties of the event that is evaluated. A visit has none. */
export type CheckWhere = (context: { readonly received: Moment; readonly properties?: Properties }) => GateOutcome

export function compileWhere(condition: PropertyCondition): CheckWhere {
  const find = compilePropertyCondition(condition)
  return ({ properties, received }) => {
    const { holds, leaf, negated, actual } = find(properties, received.ms)
    return { gate: 'where', passed: holds, compared: { leaf, negated, actual: excerptOf(actual) } }
  }
}
