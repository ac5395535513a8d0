export {
  createNextvisit,
  type Nextvisit,
  type NextvisitOptions,
  type TraitScalar,
  type TraitValue,
} from './nextvisit.ts'
export type { Properties, Property } from './events.ts'
export type { Form, FormHandler } from './forms.ts'
export type { Result, TrackAnswer, UnansweredReason, VisitAnswer } from './result.ts'
