/** What {@link nameRules} adds to a rule. */
export interface RuleName {
  /** Its name in its catalogue. */
  readonly rule: string
  /** Of a rule of several members: the one that its message begins with. It may hold a caller's words. */
  readonly member?: string
}

type Texts = { readonly message: string }
type Named<Rule> = Rule extends (...given: infer Given) => infer Made
  ? (...given: Given) => Made & RuleName
  : Rule & RuleName

/** Gives each rule of a catalogue its name, so that a refusal says by which rule it was made. */
export function nameRules<const Rules extends Readonly<Record<string, Texts | ((...given: never[]) => Texts)>>>(
  rules: Rules,
): { readonly [Name in keyof Rules]: Named<Rules[Name]> } {
  const named = Object.entries(rules).map(([rule, made]) => {
    if (typeof made !== 'function') return [rule, { ...made, rule }]
    return [rule, (...given: never[]) => nameMade(rule, made(...given), given[0])]
  })
  return Object.fromEntries(named) as { readonly [Name in keyof Rules]: Named<Rules[Name]> }
}

function nameMade(rule: string, made: Texts, first: unknown): Texts & RuleName {
  const isMember = typeof first === 'string' && made.message.startsWith(first)
  return { ...made, rule, ...(isMember && { member: first }) }
}
