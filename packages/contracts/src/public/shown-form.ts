/** Types of the packages for pages: the form that a visit gets, and its answers. They are bundled, so nothing here imports. */

/** Members that every element has. */
interface CommonMembers {
  readonly id: string
  readonly label?: string | undefined
  /** The element is shown if this holds. */
  readonly showIf?: Condition | undefined
}

/** Members of an element that takes an answer. */
interface Question extends CommonMembers {
  readonly required?: boolean | undefined
}

interface Choosing extends Question {
  readonly options: readonly { readonly id: string; readonly label: string }[]
  /** A text of the user is also an answer. */
  readonly other?: boolean | undefined
}

export type NpsElement = Question & { readonly type: 'nps' }
export type RatingElement = Question & { readonly type: 'rating'; readonly scale: number }
export type TextElement = Question & { readonly type: 'text'; readonly maxLength: number }
export type ChoiceElement = Choosing & { readonly type: 'choice' }
export type ChoicesElement = Choosing & {
  readonly type: 'choices'
  readonly atLeast?: number | undefined
  readonly atMost?: number | undefined
}
export type ConsentElement = Question & { readonly type: 'consent'; readonly label: string }
export type LinkElement = CommonMembers & { readonly type: 'link'; readonly label: string; readonly url: string }

/** An element that takes an answer. */
export type QuestionElement = NpsElement | RatingElement | TextElement | ChoiceElement | ChoicesElement | ConsentElement
export type FormElement = QuestionElement | LinkElement

/** A content in one language. */
export interface FormContent {
  readonly title?: string | undefined
  readonly elements: readonly FormElement[]
  /** Shown once the form is finished. */
  readonly thanks?: string | undefined
}

/** A form as the answer to a visit has it: `nextFeedback`. Without `content`, the element shows nothing. */
export interface Offer {
  readonly offerId: string
  readonly formId: string
  readonly revision?: number | undefined
  readonly language?: string | undefined
  readonly content?: FormContent | undefined
}

/** A text of the user in place of an option. */
export interface OtherAnswer {
  readonly other: string
}

/** The answer to an element: a number, a text or option id, a boolean, or a list of options. */
export type Answer = number | string | boolean | OtherAnswer | readonly (string | OtherAnswer)[]
/** Answers by the ids of their elements. */
export type Answers = Readonly<Record<string, Answer>>

export type AnswerStatus = 'partial' | 'finished' | 'dismissed'

/** The answers to a form so far. `answers` has every shown element with an answer. */
export interface FormAnswer {
  readonly offerId: string
  readonly formId: string
  readonly revision?: number | undefined
  readonly language?: string | undefined
  readonly answers: Answers
  readonly status: AnswerStatus
}

/** The value that a condition compares with. */
type Operand = string | number | boolean | readonly (string | number | boolean)[]

/** A condition on the answers to other elements: `{ answer: score, atMost: 6 }`, or a tree of `all`, `any` and `not`. */
export type Condition =
  | { readonly all: readonly Condition[] }
  | { readonly any: readonly Condition[] }
  | { readonly not: Condition }
  | AnswerLeaf
export type AnswerLeaf = { readonly answer: string } & { readonly [operator in string]?: Operand | undefined }
