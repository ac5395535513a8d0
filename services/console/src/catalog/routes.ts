import {
  askViews,
  type CatalogHistory,
  type CatalogRevision,
  type CatalogState,
  pageWarning,
  problemLine,
  readCatalogHistory,
  type RunningViews,
} from '@nextvisit/catalog'
import { TOPICS } from '@nextvisit/contracts'
import { withLogAdmin } from '@nextvisit/log'
import type { Answer } from '../api-routes.ts'
import type { Dependencies } from '../dependencies.ts'
import { answered, refuseWithoutLog, serveApi } from '../http/api-route.ts'
import { createSharedRead } from '../shared-read.ts'
import { catalogApi, type RevisionLine } from './api.ts'
import { createReadIfGrown } from './read-if-grown.ts'

const SHOWN_REVISIONS = 100

export function createCatalogRoutes({ connection }: Pick<Dependencies, 'connection'>) {
  const readIfGrown = createReadIfGrown(TOPICS.catalog, () => readCatalogHistory(connection, TOPICS.catalog))
  const read = createSharedRead(() =>
    withLogAdmin(connection, async (admin) => {
      const history = await readIfGrown(admin)
      const views = await askViews(admin, TOPICS.catalog, history.state).catch(() => null)
      return { history, views }
    }),
  )

  return serveApi(catalogApi, {
    listRevisions: async ({ organization }) => {
      const found = await read().catch(() => undefined)
      return found
        ? answered(catalogAnswerOf(found.history, found.views, organization))
        : refuseWithoutLog('The catalog')
    },
  })
}

/** `organization`: filter. */
function catalogAnswerOf(
  { state, revisions, isCut }: CatalogHistory,
  views: RunningViews | null,
  organization: string | undefined,
): Answer<'listRevisions'> {
  const wanted = revisions.filter((one) => organization === undefined || one.organization === organization)
  return {
    organizations: Array.from(state.organizations, ([id, { revision, config }]) => ({
      organization: id,
      revision,
      isRemoved: config === null,
    })).toSorted((one, other) => one.organization.localeCompare(other.organization)),
    warnings: warningsIn(state, organization),
    revisions: wanted.slice(-SHOWN_REVISIONS).toReversed().map(lineOf),
    isCut: isCut || wanted.length > SHOWN_REVISIONS,
    views: views && {
      current: [...views.current],
      lagging: [...views.lagging],
      silent: [...views.silent],
      problems: views.problems.map(problemLine),
    },
  }
}

function warningsIn({ organizations }: CatalogState, wanted: string | undefined): string[] {
  const shown = [...organizations].filter(([id]) => wanted === undefined || id === wanted)
  return shown.flatMap(([, { projects }]) => [...projects.values()].flatMap((project) => pageWarning(project) ?? []))
}

function lineOf({ changes, ...revision }: CatalogRevision): RevisionLine {
  return { ...revision, changes: changes.map((change) => ({ ...change })) }
}
