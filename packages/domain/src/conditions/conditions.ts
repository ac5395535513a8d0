import { type Condition, type ConditionLeaf, durationMs, type EventLeaf, type TraitValue } from '@nextvisit/contracts'
import { countKeyOf } from '../counts/count-key.ts'
import { countWithin } from '../counts/event-history.ts'
import type { User } from '../users/user.ts'
import { compileTree, type Evaluator, type IsMember } from './condition-tree.ts'
import { type Test, valueTest } from './value-test.ts'

/** Compiles a condition on a user (forms.md, Conditions). */
export function compileCondition(condition: Condition): Evaluator<User, ConditionLeaf> {
  return compileTree(condition, compileLeaf)
}

function compileLeaf(leaf: ConditionLeaf): ReturnType<typeof compileCondition> {
  if ('segment' in leaf)
    return leafFinder(leaf, (_user, _now, isMember) => isMember(leaf.segment), valueTest({ is: true }))
  if ('event' in leaf) return eventFinder(leaf, countKeyOf(leaf))
  if ('answer' in leaf) {
    const { form, element } = leaf.answer
    return leafFinder(leaf, ({ answers }) => answers.get(form)?.answers.get(element), valueTest(leaf))
  }
  if ('country' in leaf) {
    const { country } = leaf
    const test = valueTest(typeof country === 'string' ? { is: country } : country)
    return leafFinder(leaf, ({ profile }) => profile.device.$countryCode, test)
  }
  if ('device' in leaf) return leafFinder(leaf, ({ profile }) => profile.device[leaf.device], valueTest(leaf))
  return leafFinder(leaf, ({ profile }) => profile.traits.get(leaf.trait), valueTest(leaf))
}

function leafFinder(
  leaf: ConditionLeaf,
  valueOf: (user: User, now: number, isMember: IsMember) => TraitValue | undefined,
  test: Test,
): ReturnType<typeof compileCondition> {
  return (user, now, isMember) => {
    const actual = valueOf(user, now, isMember)
    return { holds: test(actual, now), leaf, negated: false, actual }
  }
}

function eventFinder(leaf: EventLeaf, countKey: string): ReturnType<typeof compileCondition> {
  const windowMs = leaf.within === undefined ? undefined : durationMs(leaf.within)
  const holds = countTest(leaf)
  return leafFinder(
    leaf,
    (user, now) => {
      const history = user.events.get(countKey)
      return windowMs === undefined ? (history?.total ?? 0) : countWithin(history, now, windowMs)
    },
    (count) => holds(count as number),
  )
}

/** Returns the test of a leaf on the number of events. */
export function countTest({ atLeast = 0, atMost = Number.POSITIVE_INFINITY, exactly }: EventLeaf) {
  return (count: number): boolean => (exactly === undefined ? count >= atLeast && count <= atMost : count === exactly)
}
