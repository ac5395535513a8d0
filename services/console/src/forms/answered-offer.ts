import {
  type AnswerValue,
  type ChoiceAnswer,
  type ContentElement,
  firstCharacters,
  type FormAnswer,
  type FormContent,
  isLongerThan,
} from '@nextvisit/contracts'
import { MASK, type Mask } from '../http/mask.ts'
import type { AnsweredOffer, ShownAnswer } from './api.ts'
import { inDefaultLanguage, labelOf } from './form-results.ts'

/** A text of an answer may have 10,000 characters, and a page shows many. */
const MAX_CHARACTERS = 500

/** Describes an offer with its answers, in the words of the current content. */
export function answeredOffer(
  { offerId: _offerId, userName, answers, ...offer }: FormAnswer,
  content: FormContent | undefined,
  mask: Mask,
): AnsweredOffer {
  return {
    ...offer,
    userName: userName === null ? null : mask.userName(userName),
    answers: Object.entries(answers).map(([id, value]) => shownAnswer(id, value, content, mask)),
  }
}

function shownAnswer(id: string, value: AnswerValue, content: FormContent | undefined, mask: Mask): ShownAnswer {
  const element = content?.elements.find((one) => one.id === id)
  const words = mask.isMasked ? MASK : answerInWords(value, element, content)
  const isCut = isLongerThan(words, MAX_CHARACTERS)
  return {
    id,
    label: labelOf(element, content),
    words: isCut ? firstCharacters(words, MAX_CHARACTERS) : words,
    ...(isCut && { isCut }),
  }
}

function answerInWords(
  value: AnswerValue,
  element: ContentElement | undefined,
  content: FormContent | undefined,
): string {
  if (typeof value === 'boolean') return value ? 'Yes' : 'No'
  if (typeof value === 'number') return String(value)
  const chosen: readonly ChoiceAnswer[] = Array.isArray(value) ? value : [value]
  return chosen
    .map((one) => {
      if (typeof one !== 'string') return `“${one.other}”`
      const option = element && 'options' in element ? element.options.find(({ id }) => id === one) : undefined
      return option ? inDefaultLanguage(option.label, content) : one
    })
    .join(', ')
}
