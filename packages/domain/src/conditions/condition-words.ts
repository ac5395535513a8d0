import type {
  AnswerCondition,
  AnswerLeaf,
  Condition,
  ConditionLeaf,
  FormAnswerLeaf,
  PropertyCondition,
  PropertyLeaf,
  TraitValue,
  Trigger,
} from '@nextvisit/contracts'
import type { ConditionResult } from './condition-tree.ts'

type AnyLeaf = ConditionLeaf | PropertyLeaf | AnswerLeaf

/** Describes the result of a condition, such as `trait plan is "pro"; the user has "free"`. */
export function resultInWords(
  subject: string,
  {
    leaf,
    negated,
    actual,
  }: Pick<ConditionResult<AnyLeaf>, 'leaf' | 'negated'> & { readonly actual?: TraitValue | undefined },
): string {
  if (!leaf) return 'no condition decides'
  return `${negated ? 'not: ' : ''}${leafInWords(leaf)}; ${subject} ${actualInWords(leaf, actual)}`
}

function actualInWords(leaf: AnyLeaf, actual: TraitValue | undefined): string {
  if ('segment' in leaf && typeof actual === 'boolean') return actual ? 'is a member' : 'is not a member'
  // The text itself is not kept.
  if ('answer' in leaf && actual === null) return 'has answered with a text'
  return actual === undefined ? 'has none' : `has ${JSON.stringify(actual)}`
}

const SUBJECTS = new Set(['trait', 'event', 'property', 'device', 'country', 'segment', 'answer'])

/** Sorts the subject of a leaf to the front, and the properties of its events to the end. */
function rankOf(member: string): number {
  return SUBJECTS.has(member) ? 0 : member === 'where' ? 2 : 1
}

/** Returns `trait plan is "pro"` for `{ trait: plan, is: pro }`. The order of members, which Postgres may change, is ignored. */
function leafInWords(leaf: AnyLeaf): string {
  return Object.entries(leaf)
    .toSorted(([one], [other]) => rankOf(one) - rankOf(other))
    .map(([key, value]) => {
      if (SUBJECTS.has(key) && typeof value === 'string') return `${key} ${value}`
      if (key === 'answer') return answerInWords(value as FormAnswerLeaf['answer'])
      if (key === 'where') return `where ${treeInWords(value as PropertyCondition)}`
      return `${key} ${isOperators(value) ? leafInWords(value) : JSON.stringify(value)}`
    })
    .join(' ')
}

function answerInWords({ form, element }: FormAnswerLeaf['answer']): string {
  return `answer ${element} of ${form}`
}

/** Returns whether operators are nested one level down. Only `{ country: { in: [DE, AT] } }` does that. */
function isOperators(value: unknown): value is ConditionLeaf {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns a tree in words: `{ all: [{ property: total, atLeast: 100 }, …] }` becomes `all (property total atLeast 100, …)`. */
export function treeInWords(tree: Condition | PropertyCondition | AnswerCondition): string {
  if ('all' in tree) return `all (${tree.all.map(treeInWords).join(', ')})`
  if ('any' in tree) return `any (${tree.any.map(treeInWords).join(', ')})`
  return 'not' in tree ? `not (${treeInWords(tree.not)})` : leafInWords(tree)
}

/** Returns a trigger in words, such as `event checkout_completed 3 times within 7d`. */
export function triggerInWords(trigger: Trigger): string {
  if ('visit' in trigger) return 'visit'
  if ('firstSeen' in trigger) return `first seen ${trigger.firstSeen.after} before, or more`
  if ('answered' in trigger) {
    const { form, where } = trigger.answered
    return `form ${form} finished${where ? ` where ${treeInWords(where)}` : ''}`
  }
  const { event, count, within, since, where } = trigger
  const parts = [
    `event ${event}`,
    count && timesInWords(count),
    within && `within ${within}`,
    since && `in one ${since}`,
    where && `where ${treeInWords(where)}`,
  ]
  return parts.filter(Boolean).join(' ')
}

export function timesInWords(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}
