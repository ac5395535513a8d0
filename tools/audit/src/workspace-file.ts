import type { Scalar } from './facts.ts'

/** A tree of conditions in the workspace file (forms.md, Conditions). */
export type Tree<Leaf> =
  | { readonly all: readonly Tree<Leaf>[] }
  | { readonly any: readonly Tree<Leaf>[] }
  | { readonly not: Tree<Leaf> }
  | Leaf

export type Condition = Tree<UserLeaf>

export type UserLeaf =
  | { readonly segment: string }
  | ({ readonly trait: string } & Operators)
  | ({ readonly device: string } & Operators)
  | { readonly country: string | Operators }
  | ({ readonly answer: { readonly form: string; readonly element: string } } & Operators)
  | ({ readonly event: string; readonly within?: string; readonly where?: Where } & Operators)

export type PropertyLeaf = { readonly property: string } & Operators

export type AnswerLeaf = { readonly answer: string } & Operators

/** A condition on the answers of a finished form (forms.md, Conditions on answers). */
export type WhereAnswers = Tree<AnswerLeaf>

/** A condition on the properties of an event (forms.md, Property conditions). */
export type Where = Tree<PropertyLeaf>

export interface Operators {
  readonly is?: Scalar
  readonly isNot?: Scalar
  readonly in?: readonly Scalar[]
  readonly notIn?: readonly Scalar[]
  readonly exists?: boolean
  readonly contains?: string
  readonly startsWith?: string
  readonly atLeast?: number
  readonly atMost?: number
  readonly moreThan?: number
  readonly lessThan?: number
  readonly exactly?: number
  readonly before?: string
  readonly after?: string
}

/** A form in the workspace file (forms.md, A form), with the members that the audit needs. */
export interface FormInFile {
  readonly id: string
  readonly enabled?: boolean
  readonly startsAt?: string
  readonly endsAt?: string
  readonly triggers?: readonly TriggerInFile[]
  readonly audience?: Condition
  readonly sample?: number
  readonly frequency?: { readonly repeat?: Repeat; readonly until?: 'answered' }
  readonly cooldown?: { readonly ignore?: boolean }
  readonly priority?: number
  readonly delay?: string
  readonly expiresAfter?: string
}

export interface TriggerInFile {
  readonly event?: string
  readonly count?: number
  readonly within?: string
  readonly since?: 'session'
  readonly where?: Where
  readonly firstSeen?: { readonly after: string }
  readonly visit?: object
  readonly answered?: { readonly form: string; readonly where?: WhereAnswers }
}

export type Repeat = 'once' | 'always' | { readonly every: string } | { readonly times: number }
