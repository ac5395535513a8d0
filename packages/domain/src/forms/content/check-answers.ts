import {
  type AnswerStatus,
  type AnswerValue,
  type Answers,
  BODY_LIMITS,
  type ChoiceAnswer,
  type ContentElement,
  type FormContent,
  isLongerThan,
} from '@nextvisit/contracts'
import { isJsonObject, type JsonObject, memberOf } from '../../bodies/json-object.ts'
import { reject, type Rejection, truncate } from '../../bodies/rejection.ts'
import { ANSWER_RULES } from './answer-rules.ts'
import { compileVisibility } from './visible-elements.ts'

type CheckedAnswers = { readonly outcome: 'ok'; readonly answers: Answers } | Rejection
type CheckedAnswer = { readonly outcome: 'ok'; readonly value: AnswerValue } | Rejection

/**
 * Checks the answers of a request against the content that the user saw (forms.md, Answers). Returns them in the order of the
 * elements, without those of hidden elements.
 */
export function checkAnswers(
  content: FormContent,
  { answers, status }: { readonly answers: JsonObject; readonly status: AnswerStatus },
): CheckedAnswers {
  const ids = new Set(content.elements.map(({ id }) => id))
  const unknown = Object.keys(answers).find((id) => !ids.has(id))
  if (unknown !== undefined) return reject(ANSWER_RULES.noElement(memberNamed(unknown)))

  const checked = new Map<string, CheckedAnswer>()
  for (const element of content.elements) {
    const given = memberOf(answers, element.id)
    if (given !== undefined) checked.set(element.id, checkAnswer(element, given))
  }
  const isVisible = compileVisibility(content)((id) => {
    const answer = checked.get(id)
    return answer?.outcome === 'ok' ? answer.value : undefined
  })
  const accepted: [string, AnswerValue][] = []
  for (const element of content.elements) {
    if (!isVisible(element.id)) continue
    const answer = checked.get(element.id)
    if (answer?.outcome === 'rejected') return answer
    const missing = status === 'finished' ? checkComplete(element, answer?.value) : undefined
    if (missing) return missing
    if (answer) accepted.push([element.id, answer.value])
  }
  return { outcome: 'ok', answers: Object.fromEntries(accepted) }
}

function memberNamed(id: string): string {
  return `answers.${truncate(id)}`
}

function checkAnswer(element: ContentElement, given: unknown): CheckedAnswer {
  const member = memberNamed(element.id)
  switch (element.type) {
    case 'nps':
      return checkNumber(member, given, 0, 10)
    case 'rating':
      return checkNumber(member, given, 1, element.scale)
    case 'text':
      if (typeof given === 'string' && !isLongerThan(given, element.maxLength)) return { outcome: 'ok', value: given }
      return reject(ANSWER_RULES.answerText(member, element.maxLength))
    case 'consent':
      return typeof given === 'boolean' ? { outcome: 'ok', value: given } : reject(ANSWER_RULES.answerConsent(member))
    case 'choice':
      return checkChoice(element, given, member) ?? reject(ANSWER_RULES.answerChoice(member, element.other))
    case 'choices':
      return checkChoices(element, given, member)
    case 'link':
      return reject(ANSWER_RULES.answerToLink(member))
  }
}

function checkNumber(member: string, given: unknown, min: number, max: number): CheckedAnswer {
  const isOnScale = Number.isInteger(given) && Number(given) >= min && Number(given) <= max
  // JSON has -0, which is 0.
  return isOnScale ? { outcome: 'ok', value: Number(given) + 0 } : reject(ANSWER_RULES.answerNumber(member, min, max))
}

type WithOptions = Extract<ContentElement, { readonly type: 'choice' | 'choices' }>
type CheckedChoice = { readonly outcome: 'ok'; readonly value: ChoiceAnswer } | Rejection

/** Checks one choice. undefined: it is neither an option nor a text of the user. */
function checkChoice({ options, other }: WithOptions, given: unknown, member: string): CheckedChoice | undefined {
  if (typeof given === 'string')
    return options.some(({ id }) => id === given) ? { outcome: 'ok', value: given } : undefined
  if (!other || !isJsonObject(given) || Object.keys(given).join() !== 'other') return undefined
  const text = given['other']
  if (typeof text === 'string' && !isLongerThan(text, BODY_LIMITS.otherTextLength))
    return { outcome: 'ok', value: { other: text } }
  return reject(ANSWER_RULES.answerOther(`${member}.other`))
}

function checkChoices(
  element: Extract<ContentElement, { readonly type: 'choices' }>,
  given: unknown,
  member: string,
): CheckedAnswer {
  const { options, other, atMost } = element
  const noChoices = reject(ANSWER_RULES.answerChoices(member, other))
  if (!Array.isArray(given) || given.length > options.length + (other ? 1 : 0)) return noChoices
  const values = new Map<string, ChoiceAnswer>()
  for (const [nth, item] of given.entries()) {
    const choice = checkChoice(element, item, `${member}[${nth}]`)
    if (choice?.outcome === 'rejected') return choice
    const name = typeof choice?.value === 'string' ? `option ${choice.value}` : 'other'
    if (!choice || values.has(name)) return noChoices
    values.set(name, choice.value)
  }
  if (atMost !== undefined && values.size > atMost) return reject(ANSWER_RULES.answerAtMost(member, atMost))
  return { outcome: 'ok', value: [...values.values()] }
}

/** Checks the rules of a finished form: a text of white space and a list without items are no answer. */
function checkComplete(element: ContentElement, value: AnswerValue | undefined): Rejection | undefined {
  if (element.type === 'link') return undefined
  const member = memberNamed(element.id)
  const count = Array.isArray(value) ? value.length : 0
  const isMissing =
    value === undefined || (typeof value === 'string' ? value.trim() === '' : Array.isArray(value) && count === 0)
  if (element.required && isMissing) return reject(ANSWER_RULES.answerRequired(member))
  const { atLeast = 0 } = element.type === 'choices' ? element : {}
  return count < atLeast ? reject(ANSWER_RULES.answerAtLeast(member, atLeast)) : undefined
}
