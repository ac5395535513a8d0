import type { TraitValue, Tree } from '@nextvisit/contracts'

/** Whether a condition holds, and what decided that, as the outcome of a gate shows it. */
export interface Finding<Leaf> {
  readonly holds: boolean
  /** Of an `all` the first that fails, of an `any` the first that holds, else the last; null where there is none. */
  readonly leaf: Leaf | null
  /** The leaf stands under an odd number of `not`: it must not hold. */
  readonly negated: boolean
  /** What the user, or the event, had there: a value, a count, membership of the segment; absent: nothing. */
  readonly actual: TraitValue | undefined
}

/** Whether the user is in a segment, by its id: see `SegmentIndex.membersAt`. */
export type IsMember = (segmentId: string) => boolean

/** A condition made ready: what it finds in a subject at an instant (ms). */
export type Finder<Subject, Leaf> = (subject: Subject, now: number, isMember: IsMember) => Finding<Leaf>

/** A tree of `all`, `any`, `not` over leaves (forms.md, Conditions). */
export function compileTree<Subject, Leaf extends object>(
  tree: Tree<Leaf>,
  compileLeaf: (leaf: Leaf) => Finder<Subject, Leaf>,
): Finder<Subject, Leaf> {
  const compile = (part: Tree<Leaf>) => compileTree(part, compileLeaf)
  if ('all' in tree) return untilOne(false, tree.all.map(compile))
  if ('any' in tree) return untilOne(true, tree.any.map(compile))
  if ('not' in tree) {
    const find = compile(tree.not)
    return (subject, now, isMember) => {
      const { holds, leaf, negated, actual } = find(subject, now, isMember)
      return { holds: !holds, leaf, negated: !negated, actual }
    }
  }
  return compileLeaf(tree)
}

/** The leaves of a tree, from left to right. */
export function leavesOf<Leaf extends object>(tree: Tree<Leaf>): readonly Leaf[] {
  const branches = 'all' in tree ? tree.all : 'any' in tree ? tree.any : 'not' in tree ? [tree.not] : undefined
  return branches ? branches.flatMap((branch) => leavesOf(branch)) : [tree as Leaf]
}

/** Goes through the parts until one of them holds, or fails: it decides. Without parts, none does. */
function untilOne<Subject, Leaf>(holds: boolean, parts: readonly Finder<Subject, Leaf>[]): Finder<Subject, Leaf> {
  const none: Finding<Leaf> = { holds: !holds, leaf: null, negated: false, actual: undefined }
  return (subject, now, isMember) => {
    let finding = none
    for (const find of parts) {
      finding = find(subject, now, isMember)
      if (finding.holds === holds) return finding
    }
    return finding
  }
}
