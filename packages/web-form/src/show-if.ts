import type { Answer, AnswerLeaf, Answers, Condition, FormElement } from '@nextvisit/contracts/shown-form'

/** Returns the answer to an element; undefined: none, or the element is hidden. */
type AnswerTo = (id: string) => Answer | undefined

type Test = (answer: Answer | undefined, operand: never) => boolean

const atLeast: Test = (answer, least: number) => typeof answer === 'number' && answer >= least
const atMost: Test = (answer, most: number) => typeof answer === 'number' && answer <= most
const isEqual: Test = (answer, wanted: unknown) => answer === wanted
const isAmong: Test = (answer, wanted: readonly unknown[]) => wanted.includes(answer)

/** The test of each operator. An element without an answer fails all but `isNot`, `notIn` and `exists: false`. */
const TESTS: Readonly<Record<string, Test>> = {
  is: isEqual,
  isNot: (answer, unwanted) => !isEqual(answer, unwanted),
  in: isAmong,
  notIn: (answer, unwanted) => !isAmong(answer, unwanted),
  contains: (answer, part: string) => (typeof answer === 'string' || Array.isArray(answer)) && answer.includes(part),
  startsWith: (answer, start: string) => typeof answer === 'string' && answer.startsWith(start),
  exists: (answer, wanted: boolean) => (answer !== undefined) === wanted,
  atLeast,
  atMost,
  moreThan: (answer, bound) => typeof answer === 'number' && !atMost(answer, bound),
  lessThan: (answer, bound) => typeof answer === 'number' && !atLeast(answer, bound),
}

/** Returns whether a condition holds. A leaf with an unknown operator does not. */
export function holds(condition: Condition, answerTo: AnswerTo): boolean {
  if ('all' in condition) return (condition.all as readonly Condition[]).every((part) => holds(part, answerTo))
  if ('any' in condition) return (condition.any as readonly Condition[]).some((part) => holds(part, answerTo))
  if ('not' in condition) return !holds(condition.not as Condition, answerTo)
  const { answer, ...operators } = condition as AnswerLeaf
  return Object.entries(operators).some(
    ([name, operand]) =>
      operand !== undefined && Object.hasOwn(TESTS, name) && TESTS[name]?.(answerTo(answer), operand as never),
  )
}

/** Returns the ids of the elements that these answers show. The answer to a hidden element counts as missing. */
export function shownIds(elements: readonly FormElement[], answers: Answers): ReadonlySet<string> {
  const byId = new Map(elements.map((element) => [element.id, element]))
  // An element whose result is not known yet counts as hidden, so that a cycle ends.
  const results = new Map<string, boolean>()
  const isShown = (id: string): boolean => {
    const element = byId.get(id)
    if (!element || results.has(id)) return results.get(id) ?? false
    results.set(id, false)
    const result = !element.showIf || holds(element.showIf, answerTo)
    results.set(id, result)
    return result
  }
  const answerTo: AnswerTo = (id) => (Object.hasOwn(answers, id) && isShown(id) ? answers[id] : undefined)
  return new Set([...byId.keys()].filter(isShown))
}
