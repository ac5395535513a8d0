import type {
  Answer,
  ChoiceElement,
  ChoicesElement,
  OtherAnswer,
  QuestionElement,
} from '@nextvisit/contracts/shown-form'
import type { Words } from './words.ts'

/** Maximum number of characters of a text in place of an option. */
const MAX_OTHER_CHARACTERS = 1_000

/** Returns the message for an answer that the gateway would refuse at any time; undefined: none. */
export function invalidity(element: QuestionElement, answer: Answer | undefined, words: Words): string | undefined {
  if (element.type === 'text' && typeof answer === 'string' && isLongerThan(answer, element.maxLength))
    return withNumber(words.tooLong, element.maxLength)
  const other = otherTextIn(answer)
  if (other?.trim() === '') return words.missing
  if (other !== undefined && isLongerThan(other, MAX_OTHER_CHARACTERS))
    return withNumber(words.tooLong, MAX_OTHER_CHARACTERS)
  if (element.type === 'choices' && Array.isArray(answer) && answer.length > (element.atMost ?? Infinity))
    return withNumber(words.atMost, element.atMost)
  return undefined
}

/** Returns the message for an answer that a finished form may not have; undefined: none. A consent may be refused. */
export function faultOf(element: QuestionElement, answer: Answer | undefined, words: Words): string | undefined {
  if (element.required && answer === undefined) return words.missing
  const least = (element.type === 'choices' && element.atLeast) || 0
  const chosen = Array.isArray(answer) ? answer.length : 0
  if (chosen < least) return withNumber(words.atLeast, least)
  return invalidity(element, answer, words)
}

/** Returns the text for the limits of an element with options; undefined: it has none. */
export function limitOf(element: ChoiceElement | ChoicesElement, words: Words): string | undefined {
  if (element.type === 'choice') return undefined
  const { atLeast = 0, atMost } = element
  if (atLeast === 0) return atMost === undefined ? undefined : withNumber(words.atMost, atMost)
  if (atMost === undefined) return withNumber(words.atLeast, atLeast)
  return withNumber(atLeast === atMost ? words.exactly : words.between, atLeast).replace('{m}', String(atMost))
}

function otherTextIn(answer: Answer | undefined): string | undefined {
  const items: readonly unknown[] = Array.isArray(answer) ? answer : [answer]
  return (items.find((item) => typeof item === 'object') as OtherAnswer | undefined)?.other
}

function isLongerThan(text: string, max: number): boolean {
  return text.length > max && Array.from(text).length > max
}

function withNumber(message: string, n: number | undefined): string {
  return message.replace('{n}', String(n))
}
