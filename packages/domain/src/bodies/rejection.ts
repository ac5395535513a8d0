import { firstCharacters, isLongerThan } from '@nextvisit/contracts'

/** A rule that a body can break. Parsers reject by it, and the API document lists it. */
export interface BodyRule extends Partial<RuleName> {
  /** The text that the caller reads: the member that is wrong, and a correct value. */
  readonly message: string
  /** The input that breaks the rule, as the API document describes it. */
  readonly when: string
  /** Status of the refusal. Default 400. */
  readonly status?: number
}

/** The members that {@link nameRules} adds to a rule. */
export interface RuleName {
  /** The rule's name in its catalogue: the reason of a refusal. */
  readonly reason: string
  /** The member that the message begins with, if the rule is for several. It may contain a caller's words. */
  readonly member?: string
}

/** A body that breaks a rule. */
export interface Rejection extends Omit<BodyRule, 'when'> {
  readonly outcome: 'rejected'
}

export function reject({ message, reason, member, status }: Omit<BodyRule, 'when'>): Rejection {
  const name = { ...(reason !== undefined && { reason }), ...(member !== undefined && { member }) }
  return { outcome: 'rejected', message, ...name, ...(status !== undefined && { status }) }
}

/** Shortens a caller's word for a message. */
export function truncate(word: string): string {
  return isLongerThan(word, 40) ? `${firstCharacters(word, 40).toWellFormed()}…` : word
}

type Texts = { readonly message: string }
type Named<Rule> = Rule extends (...given: infer Given) => infer Made
  ? (...given: Given) => Made & RuleName
  : Rule & RuleName

/** Adds to each rule of a catalogue its name, so that a refusal can name its rule. */
export function nameRules<const Rules extends Readonly<Record<string, Texts | ((...given: never[]) => Texts)>>>(
  rules: Rules,
): { readonly [Name in keyof Rules]: Named<Rules[Name]> } {
  const named = Object.entries(rules).map(([reason, rule]) => {
    if (typeof rule !== 'function') return [reason, { ...rule, reason }]
    return [reason, (...given: never[]) => nameMade(reason, rule(...given), given[0])]
  })
  return Object.fromEntries(named) as { readonly [Name in keyof Rules]: Named<Rules[Name]> }
}

function nameMade(reason: string, made: Texts, first: unknown): Texts & RuleName {
  const isMember = typeof first === 'string' && made.message.startsWith(first)
  return { ...made, reason, ...(isMember && { member: first }) }
}
