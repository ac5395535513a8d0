import { type CatalogProject, type SegmentDefinition, segmentDefinitions } from '@nextvisit/catalog'
import { treeInWords } from '@nextvisit/domain'
import { findProject } from '../catalog/find-project.ts'
import type { KnownCatalog } from '../catalog/known-catalog.ts'
import { shortened } from '../forms/shortened.ts'
import { answered, type ApiResult, type ApiRoute, apiRoute, refuse } from '../http/api-route.ts'
import { Nothing } from '../session/api.ts'
import { maskFor } from '../session/mask.ts'
import { SegmentAnswer, type SegmentLine, SegmentPath, SegmentQuery, SegmentsAnswer, SegmentsQuery } from './api.ts'
import type { Segments } from './segments.ts'

export interface SegmentRoutesParts {
  readonly catalog: () => Promise<KnownCatalog>
  readonly segments: Segments
}

const SEGMENTS_A_PAGE = 100
const MEMBERS_A_PAGE = 50
const NO_SEGMENT = refuse(
  404,
  'no-segment',
  'The project has no such segment. Segments are declared in the workspace file.',
)

/** Segments with how far they are computed, and who is in one. */
export function createSegmentRoutes({ catalog, segments }: SegmentRoutesParts): readonly ApiRoute[] {
  async function readLines(
    { organization, project }: CatalogProject,
    shown: readonly SegmentDefinition[],
  ): Promise<ApiResult<SegmentLine[]>> {
    const asked = shown.map(({ id, definition }) => ({ id, definition }))
    const read = await segments.readSegments({ organization, project, segments: asked })
    if (read.outcome === 'refused') return read
    const { segments: progress, usersTotal } = read.answer
    const nobody = { members: 0, usersComputed: 0 }
    return answered(shown.map(({ id, name }, index) => ({ id, name, ...(progress[index] ?? nobody), usersTotal })))
  }

  const listSegments = apiRoute({
    method: 'GET',
    path: 'segments/:organization/:project',
    role: 'viewer',
    input: SegmentsQuery,
    answer: SegmentsAnswer,
    handle: async ({ page, ...place }) => {
      const found = await findProject(catalog, place)
      if (found.outcome === 'refused') return found
      const all = segmentDefinitions(found.project)
      const lines = await readLines(found.project, all.slice((page - 1) * SEGMENTS_A_PAGE, page * SEGMENTS_A_PAGE))
      return lines.outcome === 'refused'
        ? lines
        : answered({ segments: lines.answer, pageSize: SEGMENTS_A_PAGE, total: all.length })
    },
  })

  const readSegment = apiRoute({
    method: 'GET',
    path: 'segments/:organization/:project/:segmentId',
    role: 'viewer',
    input: SegmentQuery,
    answer: SegmentAnswer,
    handle: async ({ after, ...path }, session) => {
      const found = await findProject(catalog, path)
      if (found.outcome === 'refused') return found
      const definition = segmentDefinitions(found.project).find(({ id }) => id === path.segmentId)
      const written = found.project.config.segments.find(({ id }) => id === path.segmentId)
      if (!definition || !written) return NO_SEGMENT
      const [lines, page] = await Promise.all([
        readLines(found.project, [definition]),
        segments.readMembers({ ...path, limit: MEMBERS_A_PAGE, ...(after !== undefined && { after }) }),
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
    },
  })

  const revealMembers = apiRoute({
    method: 'POST',
    path: 'segments/:organization/:project/:segmentId/reveal',
    role: 'viewer',
    input: SegmentPath,
    answer: Nothing,
    logged: ({ organization, project, segmentId }) => ({ organization, project, segmentId }),
    handle: async (path, session) => {
      const found = await findProject(catalog, path)
      if (found.outcome === 'refused') return found
      if (!found.project.config.segments.some(({ id }) => id === path.segmentId)) return NO_SEGMENT
      session.revealed.add(nameOf(path))
      return answered({})
    },
  })

  return [listSegments, readSegment, revealMembers]
}

/** Among what a viewer has asked for: not a user's id. */
function nameOf({ organization, project, segmentId }: SegmentPath): string {
  return `${organization}/${project}/segment ${segmentId}`
}
