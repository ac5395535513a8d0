import { NextvisitForm } from './nextvisit-form.ts'

export { NextvisitForm, type FormClient, type FormEnd } from './nextvisit-form.ts'
export { unfinishedOffers } from './saved-offer.ts'
export type { Send } from './answer-sender.ts'
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
export type { Words } from './words.ts'

declare global {
  interface HTMLElementTagNameMap {
    'nextvisit-form': NextvisitForm
  }
}

// A server has no registry; two copies of the package share the first definition.
if (globalThis.customElements && !customElements.get('nextvisit-form'))
  customElements.define('nextvisit-form', NextvisitForm)
