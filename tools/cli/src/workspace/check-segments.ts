import type { Problem } from './explain-issue.ts'
import { items, member, type YamlNode, text } from './yaml-node.ts'
import type { Path } from './read-yaml.ts'

/** Segments that are named and not there, and those that lead back to themselves (forms.md, Conditions). */
export function checkSegments(project: YamlNode): readonly Problem[] {
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
  /** Leaves that name other segments. */
  readonly references: readonly YamlNode[]
}

/** Each cycle is told once, at the segment where it closes. */
function findCycles(segments: ReadonlyMap<string, Segment>): readonly Problem[] {
  const problems: Problem[] = []
  const isDone = new Set<string>()
  const visit = (id: string, way: readonly string[]): void => {
    const segment = segments.get(id)
    if (!segment || isDone.has(id)) return
    const start = way.indexOf(id)
    if (start >= 0) {
      const cycle = [...way.slice(start), id].join(' → ')
      problems.push({ path: segment.path, message: `segment ${id} leads back to itself: ${cycle}` })
      return
    }
    for (const leaf of segment.references) visit(text(leaf, 'segment') ?? '', [...way, id])
    isDone.add(id)
  }
  for (const id of segments.keys()) visit(id, [])
  return problems
}

/** The leaves of a condition that have this member, wherever in the tree they are. */
export function leaves(condition: YamlNode, key: 'segment' | 'event'): readonly YamlNode[] {
  const branches = [...items(condition, 'all'), ...items(condition, 'any')]
  const negated = member(condition, 'not')
  if (negated.value !== undefined) branches.push(negated)
  const own = text(condition, key) === undefined ? [] : [condition]
  return [...own, ...branches.flatMap((branch) => leaves(branch, key))]
}
