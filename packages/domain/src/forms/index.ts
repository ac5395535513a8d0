export * from './asked-facts.ts'
export * from './choose-form.ts'
export { compileCondition, type ConditionState, type Predicate } from './conditions.ts'
export { treeInWords, triggerInWords } from './condition-words.ts'
export { frequencyInWords } from './gates/repeat.ts'
export { comparedInWords, gatesNotChecked, reasonInWords } from './gates/gates.ts'
export * from './evaluate-forms.ts'
export * from './evolve-activity.ts'
export * from './follow-segments.ts'
export * from './form-ids.ts'
export * from './form-index.ts'
export * from './form-steps.ts'
export * from './complete-up-to.ts'
export * from './moment.ts'
export { topologicalOrder } from './topological-order.ts'
export { countsForOf } from './property-counts.ts'
export * from './queue.ts'
export * from './queue-forms.ts'
export * from './segments.ts'
export {
  type CompiledTrigger,
  compileTrigger,
  eventContextOf,
  type TriggerContext,
  visitContextOf,
} from './triggers.ts'
export * from './user-state.ts'
