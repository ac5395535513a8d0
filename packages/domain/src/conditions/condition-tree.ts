import type { TraitValue, Tree } from '@nextvisit/contracts'

/** The result of a condition, with the leaf that decided it. Outcomes of gates show it. */
export interface ConditionResult<Leaf> {
  readonly holds: boolean
  /** The first leaf of an `all` that fails, the first of an `any` that holds, else the last. null: there is none. */
  readonly leaf: Leaf | null
  /** The leaf is under an odd number of `not`, so it must not hold. */
  readonly negated: boolean
  /** The value, count or membership that the user or the event had there. undefined: none. */
  readonly actual: TraitValue | undefined
}

/** Returns whether the user is in a segment, by its id (`SegmentIndex.membersAt`). */
export type IsMember = (segmentId: string) => boolean

/** A compiled condition: evaluates a subject at `now` (ms). */
export type Evaluator<Subject, Leaf> = (subject: Subject, now: number, isMember: IsMember) => ConditionResult<Leaf>

/** Compiles a tree of `all`, `any` and `not` over leaves (forms.md, Conditions). */
export function compileTree<Subject, Leaf extends object>(
  tree: Tree<Leaf>,
  compileLeaf: (leaf: Leaf) => Evaluator<Subject, Leaf>,
): Evaluator<Subject, Leaf> {
  const compile = (part: Tree<Leaf>) => compileTree(part, compileLeaf)
  if ('all' in tree) return untilOne(false, tree.all.map(compile))
  if ('any' in tree) return untilOne(true, tree.any.map(compile))
  if ('not' in tree) {
    const evaluate = compile(tree.not)
    return (subject, now, isMember) => {
      const { holds, leaf, negated, actual } = evaluate(subject, now, isMember)
      return { holds: !holds, leaf, negated: !negated, actual }
    }
  }
  return compileLeaf(tree)
}

/** Returns the leaves of a tree, from left to right. */
export function leavesOf<Leaf extends object>(tree: Tree<Leaf>): readonly Leaf[] {
  const branches = 'all' in tree ? tree.all : 'any' in tree ? tree.any : 'not' in tree ? [tree.not] : undefined
  return branches ? branches.flatMap((branch) => leavesOf(branch)) : [tree as Leaf]
}

/** Evaluates parts until one has the result `holds`, which decides. Without parts, none does. */
function untilOne<Subject, Leaf>(holds: boolean, parts: readonly Evaluator<Subject, Leaf>[]): Evaluator<Subject, Leaf> {
  const none: ConditionResult<Leaf> = { holds: !holds, leaf: null, negated: false, actual: undefined }
  return (subject, now, isMember) => {
    let result = none
    for (const evaluate of parts) {
      result = evaluate(subject, now, isMember)
      if (result.holds === holds) return result
    }
    return result
  }
}
