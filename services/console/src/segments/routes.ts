import { type CatalogProject, type CatalogSegment, catalogSegments } from '@nextvisit/catalog'
import { treeInWords } from '@nextvisit/domain'
import { createInProject } from '../catalog/find-project.ts'
import type { Input } from '../api-routes.ts'
import type { Dependencies } from '../dependencies.ts'
import { shortened } from '../forms/shortened.ts'
import { answered, type ApiResult, refuse, serveApi } from '../http/api-route.ts'
import { maskFor } from '../http/mask.ts'
import { type SegmentLine, segmentsApi } from './api.ts'

const SEGMENTS_A_PAGE = 100
const MEMBERS_A_PAGE = 50
const NO_SEGMENT = refuse(
  404,
  'no-segment',
  'The project has no such segment. Segments are declared in the workspace file.',
)

export function createSegmentRoutes({ catalog, projector }: Pick<Dependencies, 'catalog' | 'projector'>) {
  const inProject = createInProject(catalog)

  async function readLines(
    { organization, project }: CatalogProject,
    shown: readonly CatalogSegment[],
    signal: AbortSignal,
  ): Promise<ApiResult<SegmentLine[]>> {
    const segments = shown.map(({ id, fingerprint }) => ({ id, fingerprint }))
    const read = await projector.readSegments({ organization, project, segments }, signal)
    if (read.outcome === 'refused') return read
    const { segments: progress, usersTotal } = read.answer
    const none = { members: 0, usersComputed: 0 }
    return answered(shown.map(({ id, name }, index) => ({ id, name, ...(progress[index] ?? none), usersTotal })))
  }

  return serveApi(segmentsApi, {
    listSegments: inProject(async (project, { page }, _session, signal) => {
      const all = catalogSegments(project)
      const shown = all.slice((page - 1) * SEGMENTS_A_PAGE, page * SEGMENTS_A_PAGE)
      const lines = await readLines(project, shown, signal)
      return lines.outcome === 'refused'
        ? lines
        : answered({ segments: lines.answer, pageSize: SEGMENTS_A_PAGE, total: all.length })
    }),
    readSegment: inProject(async (project, { after, ...path }, session, signal) => {
      const segment = catalogSegments(project).find(({ id }) => id === path.segmentId)
      const written = project.config.segments.find(({ id }) => id === path.segmentId)
      if (!segment || !written) return NO_SEGMENT
      const [lines, page] = await Promise.all([
        readLines(project, [segment], signal),
        projector.readSegmentMembers({ ...path, limit: MEMBERS_A_PAGE, after }, signal),
      ])
      if (lines.outcome === 'refused') return lines
      if (page.outcome === 'refused') return page
      const [line] = lines.answer
      if (!line) return NO_SEGMENT
      const mask = maskFor(session, nameOf(path))
      return answered({
        ...line,
        where: shortened(treeInWords(written.where)),
        isMasked: mask.isMasked,
        users: page.answer.users.map((user) => ({ ...user, userName: mask.userName(user.userName) })),
        next: page.answer.next,
      })
    }),
    revealSegment: inProject(async ({ config }, path, { revealed }) => {
      if (!config.segments.some(({ id }) => id === path.segmentId)) return NO_SEGMENT
      await revealed.add(nameOf(path))
      return answered({})
    }),
  })
}

/** Name among the revealed data of a session. No user has such a name. */
function nameOf({ organization, project, segmentId }: Input<'revealSegment'>): string {
  return `${organization}/${project}/segment ${segmentId}`
}
