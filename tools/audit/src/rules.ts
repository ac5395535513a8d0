// The rules of forms.md as the auditor states them, for models in the specs of the evaluator. They share no code with it.
export { type ProjectOfRevision, projectOfRevision } from './catalog.ts'
export type { FormRule } from './form-rules.ts'
export { checkGates, type GateName, gatesAtVisit, type QueueThen, TO_QUEUE } from './gates.ts'
export { createKeptAnswers } from './kept-answers.ts'
export { type ActivityThen, triggeredBy } from './triggers.ts'
