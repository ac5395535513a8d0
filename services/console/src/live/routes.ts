import type { ProjectRef } from '@nextvisit/contracts'
import { eventSlug } from '@nextvisit/domain'
import { findProject, NO_CATALOG } from '../catalog/find-project.ts'
import type { Dependencies } from '../dependencies.ts'
import { answered, refuse, serveApi } from '../http/api-route.ts'
import type { Session } from '../http/sessions.ts'
import { maskFor, revealedName } from '../http/mask.ts'
import { liveApi, type LiveEntry } from './api.ts'
import type { KeptEntry } from './live-entries.ts'
import type { LiveFeed } from './live-feed.ts'
import type { ShownUsers, ShowUser } from './shown-users.ts'

interface LiveRoutesParts extends Pick<Dependencies, 'catalog'> {
  readonly feed: Pick<LiveFeed, 'read'>
  readonly shownUsers: Pick<ShownUsers, 'of'>
}

/** Refusals are read of at most this many projects together: every two seconds each costs Redis some look-ups. */
const MAX_PROJECTS = 10
const HALF_A_PROJECT = refuse(400, 'bad-input', 'organization, project: give both, or neither')

export function createLiveRoutes({ catalog, feed, shownUsers }: LiveRoutesParts) {
  return serveApi(liveApi, {
    readLive: async ({ organization, project, event, outcome, after }, session, signal) => {
      if ((organization === undefined) !== (project === undefined)) return HALF_A_PROJECT
      const chosen = organization !== undefined && project !== undefined ? { organization, project } : undefined
      const shown = await projectsOf(catalog, chosen)
      if (shown.outcome === 'refused') return shown
      const refusalsOf = shown.projects.length <= MAX_PROJECTS ? shown.projects : []
      // A name without a letter or digit has no slug, and matches no event.
      const slug = event === '' ? undefined : eventSlug(event) || event
      const { entries, hasRefusals, ...state } = feed.read({ project: chosen, event: slug, outcome, after, refusalsOf })
      const showUser = await shownUsers.of(entries, signal)
      return answered({
        ...state,
        entries: entries.map((entry) => maskedFor(session, shownEntryOf(entry, showUser))),
        refusals: refusalsOf.length < shown.projects.length ? 'too-many-projects' : hasRefusals ? 'read' : 'no-answer',
      })
    },
  })
}

async function projectsOf(catalog: Dependencies['catalog'], chosen: ProjectRef | undefined) {
  if (chosen) {
    const found = await findProject(catalog, chosen)
    return found.outcome === 'refused' ? found : ({ outcome: 'found', projects: [chosen] } as const)
  }
  const known = await catalog().catch(() => undefined)
  if (!known) return NO_CATALOG
  const projects = known.projects().map(({ organization, project }) => ({ organization, project }))
  return { outcome: 'found', projects } as const
}

function shownEntryOf(kept: KeptEntry, showUser: ShowUser): LiveEntry {
  const { entry } = kept
  const { userName, isErased } = showUser(kept)
  return { ...entry, userName, marks: isErased ? [...entry.marks, 'erased'] : entry.marks }
}

function maskedFor(session: Session, entry: LiveEntry): LiveEntry {
  const { organization, project, userId, userName } = entry
  if (userName === null || userId === null) return entry
  return { ...entry, userName: maskFor(session, revealedName({ organization, project, userId })).userName(userName) }
}
