import { z } from 'zod'
import { slugMap } from './traits.ts'

/** A text of the user in place of an option. */
export interface OtherAnswer {
  readonly other: string
}
/** One choice: the id of an option, or a text of the user. */
export type ChoiceAnswer = string | OtherAnswer
/** The answer to an element of a form (forms.md, Answers). */
export type AnswerValue = number | boolean | ChoiceAnswer | readonly ChoiceAnswer[]
/** Answers by the id of the element. */
export type Answers = Readonly<Record<string, AnswerValue>>

const ChoiceAnswer = z.union([z.string(), z.strictObject({ other: z.string() })])
export const AnswerValue: z.ZodType<AnswerValue> = z.union([
  z.number(),
  z.boolean(),
  ChoiceAnswer,
  z.array(ChoiceAnswer),
])

function isAnswerValue(input: unknown): input is AnswerValue {
  if (typeof input === 'number') return Number.isFinite(input)
  return typeof input === 'boolean' || (Array.isArray(input) ? input.every(isChoiceAnswer) : isChoiceAnswer(input))
}

function isChoiceAnswer(input: unknown): input is ChoiceAnswer {
  if (typeof input === 'string') return true
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return false
  const [name, ...others] = Object.keys(input)
  return name === 'other' && others.length === 0 && typeof (input as OtherAnswer).other === 'string'
}

/** The answers of a record. */
export const Answers: z.ZodType<Answers> = slugMap(AnswerValue, isAnswerValue)

/** The types of elements that take an answer (forms.md, Content): every type without `link`. */
export const ElementType = z.enum(['nps', 'text', 'rating', 'choice', 'choices', 'consent'])
export type ElementType = z.infer<typeof ElementType>
const ELEMENT_TYPES: ReadonlySet<unknown> = new Set(ElementType.options)

/** The answered elements, with their types: readers count by them without opening the answers. */
export const AnsweredElements = slugMap(ElementType, (input): input is ElementType => ELEMENT_TYPES.has(input))
export type AnsweredElements = z.infer<typeof AnsweredElements>
