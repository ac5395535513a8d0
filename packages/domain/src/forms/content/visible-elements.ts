import type { AnswerLeaf, AnswerValue, FormContent, TraitValue } from '@nextvisit/contracts'
import { comparedValueOf } from '../../users/compared-value.ts'
import { compileTree, type Evaluator, type IsMember } from '../../conditions/condition-tree.ts'
import { valueTest } from '../../conditions/value-test.ts'

type AnswerOf = (id: string) => AnswerValue | undefined
type IsVisible = (id: string) => boolean
/** The values that conditions compare, by element. */
type ComparedOf = (id: string) => TraitValue | undefined

/** One content is many requests. */
const compiled = new WeakMap<FormContent, (answerOf: AnswerOf) => IsVisible>()

/**
 * Compiles the conditions of a content (forms.md, Content: showIf). An answer to a hidden element counts as missing, so that
 * further elements may be hidden.
 */
export function compileVisibility(content: FormContent): (answerOf: AnswerOf) => IsVisible {
  const known = compiled.get(content)
  if (known) return known
  const conditions = new Map<string, Evaluator<ComparedOf, AnswerLeaf>>()
  for (const { id, showIf } of content.elements) if (showIf) conditions.set(id, compileTree(showIf, compileLeaf))

  const visibleWith = (answerOf: AnswerOf): IsVisible => {
    /** An element that is being evaluated counts as hidden. Contents have no cycles. */
    const results = new Map<string, boolean>()
    const isVisible: IsVisible = (id) => {
      const result = results.get(id)
      if (result !== undefined) return result
      const evaluate = conditions.get(id)
      if (!evaluate) return true
      results.set(id, false)
      const isShown = evaluate(comparedOf, 0, isInNoSegment).holds
      results.set(id, isShown)
      return isShown
    }
    const comparedOf: ComparedOf = (id) => {
      const answer = answerOf(id)
      return answer !== undefined && isVisible(id) ? comparedValueOf(answer) : undefined
    }
    return isVisible
  }
  compiled.set(content, visibleWith)
  return visibleWith
}

const isInNoSegment: IsMember = () => false

function compileLeaf(leaf: AnswerLeaf): Evaluator<ComparedOf, AnswerLeaf> {
  const test = valueTest(leaf)
  return (comparedOf, now) => {
    const actual = comparedOf(leaf.answer)
    return { holds: test(actual, now), leaf, negated: false, actual }
  }
}
