import { createHash } from 'node:crypto'
import { type Condition, NEVER, type ProjectConfig, type Segment, segmentsNamedIn } from '@nextvisit/contracts'
import { compileNextChange } from '../conditions/next-change.ts'
import { type IsMember, leavesOf } from '../conditions/condition-tree.ts'
import { compileCondition } from '../conditions/conditions.ts'
import type { User } from '../users/user.ts'
import { countKeyOf } from '../counts/count-key.ts'
import { topologicalOrder } from './topological-order.ts'

/** A segment compiled for evaluation. */
interface CompiledSegment {
  readonly id: string
  /**
   * Hash of the id and the condition, including the conditions of segments that it names. A user whose row has this hash
   * need not be computed again.
   */
  readonly fingerprint: string
  readonly evaluate: ReturnType<typeof compileCondition>
  /** Returns the next change of its own condition, without the segments that it names. */
  readonly nextChange: ReturnType<typeof compileNextChange>
  /** Keys of the counts that it reads (`countKeyOf`). */
  readonly countKeys: ReadonlySet<string>
  /** The forms whose answers it reads. */
  readonly answeredForms: ReadonlySet<string>
}

/** A project's segments (forms.md, Conditions). */
export interface SegmentIndex {
  /** By id, ascending. */
  readonly segments: readonly CompiledSegment[]
  /** Hash of the fingerprints of all segments. Empty: there are none. */
  readonly fingerprint: string
  /** Keys of the counts that any of them reads (`countKeyOf`). */
  readonly countKeys: ReadonlySet<string>
  /** Returns the keys of the counts that one of them reads, including the segments that it names. */
  readonly countKeysOf: (id: string) => ReadonlySet<string>
  /** The forms whose answers any of them reads. */
  readonly answeredForms: ReadonlySet<string>
  /** Returns the forms whose answers one of them reads, including the segments that it names. */
  readonly answeredFormsOf: (id: string) => ReadonlySet<string>
  /**
   * Returns a user's membership at `now` (ms). Each segment is evaluated at most once, however many others name it.
   * `nextvisit apply` refuses unknown segments and cycles; here they have no members.
   */
  readonly membersAt: (user: User, now: number) => IsMember
  /**
   * Returns the ids of a user's segments at `now` (ms), ascending. `changesAt`: the next instant at which time alone can change
   * them; undefined: never.
   */
  readonly membershipAt: (
    user: User,
    now: number,
  ) => { readonly segments: readonly string[]; readonly changesAt: number | undefined }
}

/** Part of every fingerprint. Raise it when the same condition gets another meaning: every user is then computed again. */
const MEANING = 1
/** The last day with a four-digit year. A later change counts as none. */
const LAST_INSTANT = Date.UTC(9999, 11, 31)

const compiled = new WeakMap<ProjectConfig, SegmentIndex>()

/** Returns a project's segments, compiled once per configuration object. */
export function compileSegments(project: ProjectConfig): SegmentIndex {
  const known = compiled.get(project)
  if (known) return known
  const index = buildIndex(project.segments)
  compiled.set(project, index)
  return index
}

/** The segments of a project that has none, or was removed. */
export const NO_SEGMENTS: SegmentIndex = buildIndex([])

function buildIndex(written: readonly Segment[]): SegmentIndex {
  const trees = new Map(written.map(({ id, where }) => [id, where]))
  const names = new Map([...trees].map(([id, where]) => [id, new Set(segmentsNamedIn(where))]))
  const inOrder = (ids: Iterable<string>) => topologicalOrder(ids, (id) => names.get(id) ?? [])
  const all = inOrder(trees.keys())
  const byId = new Map<string, CompiledSegment>()
  const find = (id: string) => byId.get(id) ?? emptySegment(id)
  for (const id of all) {
    const where = trees.get(id)
    if (where) byId.set(id, compileSegment(id, where, find))
  }
  const segments = [...trees.keys()].toSorted().map(find)

  const orders = new Map<string, readonly string[]>()
  const orderOf = (id: string) => {
    const ids = orders.get(id) ?? inOrder([id])
    orders.set(id, ids)
    return ids
  }
  /** Adds the membership of each id to `known`. `ids` are in topological order. */
  const evaluate = (ids: readonly string[], known: Map<string, boolean>, user: User, now: number) => {
    const isMember: IsMember = (id) => known.get(id) ?? false
    for (const id of ids) if (!known.has(id)) known.set(id, byId.get(id)?.evaluate(user, now, isMember).holds ?? false)
  }
  return {
    segments,
    fingerprint: segments.length === 0 ? '' : hashOf(segments.map(({ fingerprint }) => fingerprint)),
    countKeys: new Set(segments.flatMap(({ countKeys }) => [...countKeys])),
    countKeysOf: (id) => find(id).countKeys,
    answeredForms: new Set(segments.flatMap(({ answeredForms }) => [...answeredForms])),
    answeredFormsOf: (id) => find(id).answeredForms,
    membersAt: (user, now) => {
      const known = new Map<string, boolean>()
      return (id) => {
        if (!known.has(id)) evaluate(orderOf(id), known, user, now)
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
  const answered = leaves.flatMap((leaf) => ('answer' in leaf ? leaf.answer.form : []))
  return {
    id,
    fingerprint: hashOf([MEANING, id, where, named.map(({ fingerprint }) => fingerprint)]),
    evaluate: compileCondition(where),
    nextChange: compileNextChange(where),
    countKeys: new Set([...counted, ...named.flatMap(({ countKeys }) => [...countKeys])]),
    answeredForms: new Set([...answered, ...named.flatMap(({ answeredForms }) => [...answeredForms])]),
  }
}

/** A segment without members: its id is unknown, or its condition leads back to itself. */
function emptySegment(id: string): CompiledSegment {
  return { ...compileSegment(id, NEVER, emptySegment), fingerprint: hashOf([MEANING, id]) }
}

function hashOf(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}
