export {
  createNextvisit,
  type Nextvisit,
  type NextvisitOptions,
  type TraitScalar,
  type TraitValue,
} from './nextvisit.ts'
export type { Properties, Property } from './queue.ts'
export type { Form, FormHandler } from './forms.ts'
export type { AnswersAnswer, Result, TrackAnswer, UnansweredReason, VisitAnswer } from './result.ts'
export type {
  Answer,
  AnswerLeaf,
  AnswerStatus,
  Answers,
  Condition,
  FormAnswer,
  FormContent,
  FormElement,
  Offer,
  OtherAnswer,
  QuestionElement,
} from '@nextvisit/contracts/shown-form'
