import { createHash } from 'node:crypto'
import { type Condition, type ProjectConfig, type Segment, segmentsNamedIn } from '@nextvisit/contracts'
import { type Clock, compileClock, stopped } from './condition-clock.ts'
import { type IsMember, leavesOf } from './condition-tree.ts'
import { compileCondition, type ConditionState, type Predicate } from './conditions.ts'
import { countKeyOf } from './count-key.ts'
import { topologicalOrder } from './topological-order.ts'

/** A segment made ready for evaluation. */
export interface CompiledSegment {
  readonly id: string
  /**
   * A hash of the id and the tree, the trees of the segments that it names included. A user who was computed with it need
   * not be computed again.
   */
  readonly definition: string
  readonly holds: Predicate
  /** Of its own tree, without the segments that it names. */
  readonly nextChange: Clock
  /** What it counts: see `countKeyOf`. */
  readonly countKeys: ReadonlySet<string>
}

/** Which segments a user is in at an instant, and when time alone may change that. */
export interface Membership {
  /** By id, ascending. */
  readonly segments: readonly string[]
  /** The next instant at which time alone may change it; undefined: never. */
  readonly changesAt: number | undefined
}

/** A project's segments (forms.md, Conditions). */
export interface SegmentIndex {
  /** By id, ascending. */
  readonly segments: readonly CompiledSegment[]
  /** Of all of them together; empty where there are none. */
  readonly definitions: string
  /** What any of them counts: see `countKeyOf`. */
  readonly countKeys: ReadonlySet<string>
  /** What one of them counts, the segments that it names included. */
  readonly countKeysOf: (id: string) => ReadonlySet<string>
  /**
   * A user's membership of them at an instant (ms), for one look at the user: each segment is evaluated at most once,
   * however many others name it. Unknown ones and cycles are refused on applying; here they have no members.
   */
  readonly membersAt: (user: ConditionState, now: number) => IsMember
  readonly membershipAt: (user: ConditionState, now: number) => Membership
}

/** Part of every definition. Raise it when the same tree gets another meaning: then every user is computed again. */
const MEANING = 1
/** The last instant that has a four-digit year. A later change counts as none. */
const LAST_INSTANT = Date.UTC(9999, 11, 31)

const compiled = new WeakMap<ProjectConfig, SegmentIndex>()

/** A project's segments, compiled once for each configuration object. */
export function compileSegments(project: ProjectConfig): SegmentIndex {
  const known = compiled.get(project)
  if (known) return known
  const index = buildIndex(project.segments)
  compiled.set(project, index)
  return index
}

/** For a project that has no segments, or was removed. */
export const NO_SEGMENTS: SegmentIndex = buildIndex([])

function buildIndex(written: readonly Segment[]): SegmentIndex {
  const trees = new Map(written.map(({ id, where }) => [id, where]))
  const names = new Map([...trees].map(([id, where]) => [id, new Set(segmentsNamedIn(where))]))
  const leadingTo = (ids: Iterable<string>) => topologicalOrder(ids, (id) => names.get(id) ?? [])
  const all = leadingTo(trees.keys())
  const byId = new Map<string, CompiledSegment>()
  const find = (id: string) => byId.get(id) ?? nobodyIn(id)
  for (const id of all) {
    const where = trees.get(id)
    if (where) byId.set(id, compileSegment(id, where, find))
  }
  const segments = [...trees.keys()].toSorted().map(find)

  const leadingToOne = new Map<string, readonly string[]>()
  const remembered = (id: string) => {
    const ids = leadingToOne.get(id) ?? leadingTo([id])
    leadingToOne.set(id, ids)
    return ids
  }
  /** Adds to `known` whether the user is in each of `ids`, which come after those that they name. */
  const evaluate = (ids: readonly string[], known: Map<string, boolean>, user: ConditionState, now: number) => {
    const isMember: IsMember = (id) => known.get(id) ?? false
    for (const id of ids) if (!known.has(id)) known.set(id, byId.get(id)?.holds(user, now, isMember) ?? false)
  }
  return {
    segments,
    definitions: segments.length === 0 ? '' : hashOf(segments.map(({ definition }) => definition)),
    countKeys: new Set(segments.flatMap(({ countKeys }) => [...countKeys])),
    countKeysOf: (id) => find(id).countKeys,
    membersAt: (user, now) => {
      const known = new Map<string, boolean>()
      return (id) => {
        if (!known.has(id)) evaluate(remembered(id), known, user, now)
        return known.get(id) ?? false
      }
    },
    membershipAt: (user, now) => {
      const changesAt = Math.min(...segments.map(({ nextChange }) => nextChange(user, now)))
      const known = new Map<string, boolean>()
      evaluate(all, known, user, now)
      return {
        segments: segments.map(({ id }) => id).filter((id) => known.get(id)),
        changesAt: changesAt > LAST_INSTANT ? undefined : changesAt,
      }
    },
  }
}

function compileSegment(id: string, where: Condition, find: (id: string) => CompiledSegment): CompiledSegment {
  const leaves = leavesOf(where)
  const named = leaves.flatMap((leaf) => ('segment' in leaf ? find(leaf.segment) : []))
  const counted = leaves.flatMap((leaf) => ('event' in leaf ? countKeyOf(leaf) : []))
  return {
    id,
    definition: hashOf([MEANING, id, where, named.map(({ definition }) => definition)]),
    holds: compileCondition(where),
    nextChange: compileClock(where),
    countKeys: new Set([...counted, ...named.flatMap(({ countKeys }) => [...countKeys])]),
  }
}

function nobodyIn(id: string): CompiledSegment {
  return { id, definition: hashOf([MEANING, id]), holds: () => false, nextChange: stopped, countKeys: new Set() }
}

function hashOf(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}
