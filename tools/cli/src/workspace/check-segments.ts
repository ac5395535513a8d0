import { topologicalOrder } from '@nextvisit/domain'
import type { Fault } from './explain-issue.ts'
import { items, member, type YamlNode, text } from './yaml-node.ts'
import type { Path } from './read-yaml.ts'

/** Reports unknown segments, and cycles of segments (forms.md, Conditions). */
export function checkSegments(project: YamlNode): readonly Fault[] {
  const segments = new Map(
    items(project, 'segments').map((segment) => [
      text(segment, 'id') ?? '',
      { path: segment.path, references: leaves(member(segment, 'where'), 'segment') },
    ]),
  )
  const audiences = items(project, 'forms').flatMap((form) => leaves(member(form, 'audience'), 'segment'))
  const references = [...[...segments.values()].flatMap((segment) => segment.references), ...audiences]
  const unknown = references.flatMap((leaf) => {
    const id = text(leaf, 'segment') ?? ''
    if (segments.has(id)) return []
    return [{ path: member(leaf, 'segment').path, message: `there is no segment ${id} in this project` }]
  })
  return [...unknown, ...findCycles(segments)]
}

interface Segment {
  readonly path: Path
  /** Leaves that refer to other segments. */
  readonly references: readonly YamlNode[]
}

/** Maximum number of reported cycles. Each names all of its segments. */
const MAX_CYCLES = 10

/** Reports each cycle once, at the segment where it closes. */
function findCycles(segments: ReadonlyMap<string, Segment>): readonly Fault[] {
  const faults: Fault[] = []
  const namesOf = (id: string) => segments.get(id)?.references.map((leaf) => text(leaf, 'segment') ?? '') ?? []
  topologicalOrder(segments.keys(), namesOf, (id, path) => {
    if (faults.length === MAX_CYCLES) return
    const way = [...path]
    const message = `segment ${id} refers to itself: ${[...way.slice(way.indexOf(id)), id].join(' → ')}`
    faults.push({ path: segments.get(id)?.path ?? [], message })
  })
  return faults
}

/** Returns the leaves of a condition that have this member, at any depth. */
export function leaves(condition: YamlNode, key: 'segment' | 'event' | 'answer'): readonly YamlNode[] {
  const branches = [...items(condition, 'all'), ...items(condition, 'any')]
  const negated = member(condition, 'not')
  if (negated.value !== undefined) branches.push(negated)
  // Only `answer` names a form and an element.
  const isOwn = key === 'answer' ? member(condition, key).value !== undefined : text(condition, key) !== undefined
  const own = isOwn ? [condition] : []
  return [...own, ...branches.flatMap((branch) => leaves(branch, key))]
}
