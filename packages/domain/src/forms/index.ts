export * from './asked-facts.ts'
export * from './choose-form.ts'
export { countedByTrigger, countKeyOf, countKeysOf, countsRaisedBy } from './count-key.ts'
export { compileCondition, type ConditionState, type Predicate } from './conditions.ts'
export * from './decision-words.ts'
export * from './evaluate-forms.ts'
export * from './fold-activity.ts'
export * from './follow-segments.ts'
export * from './form-ids.ts'
export * from './form-index.ts'
export * from './form-steps.ts'
export * from './moment.ts'
export { namedFirst } from './named-first.ts'
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
