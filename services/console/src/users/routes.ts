import type { Trigger } from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import type { Answer } from '../api-routes.ts'
import { createInProject, findProject, NO_CATALOG, NO_PROJECT } from '../catalog/find-project.ts'
import type { Dependencies } from '../dependencies.ts'
import { answered, refuse, serveApi } from '../http/api-route.ts'
import { createConcurrencyLimit } from '../http/concurrency-limit.ts'
import { type UserPath, usersApi } from './api.ts'
import { ALL_KEPT, findUserOfRequest, NO_LOG } from './find-user-of-request.ts'
import { countedTriggers, formLinesOf } from './form-lines.ts'
import { maskFor, revealedName } from '../http/mask.ts'
import { profileOf } from './profile.ts'
import { timelineEntriesOf } from './timeline-entries.ts'
import type { UserLog, Users } from './users.ts'

interface UserRoutesParts extends Pick<Dependencies, 'catalog' | 'readRefusals' | 'nowMs'> {
  readonly users: Users
}

const TOO_MANY_READS = refuse(
  429,
  'too-many-reads',
  'Two pages of this session are already searching the log. Try again when one has finished.',
)
/** Each reads up to 100,000 records. */
const MAX_CONCURRENT_READS = 2

export function createUserRoutes({ catalog, users, readRefusals, nowMs }: UserRoutesParts) {
  const knownCatalog = () => catalog().catch(() => undefined)
  const inProject = createInProject(catalog)
  const limited = createConcurrencyLimit(MAX_CONCURRENT_READS, TOO_MANY_READS)

  return serveApi(usersApi, {
    listProjects: async () => {
      const known = await knownCatalog()
      if (!known) return NO_CATALOG
      return answered({ projects: known.projects().map(({ organization, project }) => ({ organization, project })) })
    },
    findUser: async (input, session) => {
      if ('requestId' in input) {
        const parts = { findRequest: users.findRequest, readRefusals, knownCatalog }
        return limited(session, () => findUserOfRequest(parts, input))
      }
      const { organization, project, userName } = input
      if (!userName.isWellFormed()) return refuse(400, 'bad-input', 'userName: must not contain lone surrogates')
      const found = await findProject(catalog, input)
      if (found.outcome === 'refused') return found
      return answered({ organization, project, userId: userIdOf(organization, project, userName) })
    },
    readUser: async (path, session) => {
      const [known, user] = await Promise.all([knownCatalog(), users.readUser(path)])
      const found = known?.project(path.organization, path.project)
      if (known && !found) return NO_PROJECT
      if (user.outcome === 'refused') return user
      const mask = maskFor(session, revealedName(path))
      const profile = user.answer ? profileOf(user.answer, found?.config, mask) : null
      return answered({ ...path, isMasked: mask.isMasked, profile })
    },
    readUserForms: async (path, session) => {
      const [known, forms] = await Promise.all([knownCatalog(), users.readForms(path)])
      if (forms.outcome === 'refused') return forms
      const model = forms.answer ?? { forms: [], queue: [] }
      const config = known?.project(path.organization, path.project)?.config
      const mask = maskFor(session, revealedName(path))
      const counts = await users.readTriggerCounts(path, forms.answer ? countedTriggers(model.forms, config, mask) : [])
      const soFar = (trigger: Trigger) => counts.get(trigger)
      return answered({ forms: formLinesOf({ ...model, config, soFar, mask, nowMs: nowMs() }), queue: model.queue })
    },
    readTimeline: async ({ depth, request, ...path }, session) => {
      const readLog = () => users.readLog(path, depth).then(answered<UserLog>, () => NO_LOG)
      const [read, forms, refusals, known] = await Promise.all([
        limited(session, readLog),
        users.readForms(path),
        readRefusals(path, ALL_KEPT),
        knownCatalog(),
      ])
      if (read.outcome === 'refused') return read
      const config = known?.project(path.organization, path.project)?.config
      const mask = maskFor(session, revealedName(path))
      return answered(timelineOf({ path, request, log: read.answer, forms, refusals, config, mask }))
    },
    revealUser: inProject((_, path, { revealed }) => {
      revealed.add(revealedName(path))
      return answered({})
    }),
  })
}

function timelineOf({
  path,
  log: { facts, formFacts, reading },
  forms,
  refusals,
  ...parts
}: Pick<Parameters<typeof timelineEntriesOf>[0], 'request' | 'config' | 'mask'> & {
  readonly path: UserPath
  readonly log: UserLog
  readonly forms: Awaited<ReturnType<Users['readForms']>>
  readonly refusals: Awaited<ReturnType<Dependencies['readRefusals']>>
}): Answer<'readTimeline'> {
  const entries = timelineEntriesOf({
    ...parts,
    facts,
    formFacts,
    forms: forms.outcome === 'answered' ? (forms.answer ?? { forms: [], queue: [] }) : undefined,
    refusals: (refusals ?? []).filter(({ userId }) => userId === path.userId),
    since: reading.since,
  })
  const gaps = [
    ...(forms.outcome === 'refused'
      ? [`Decisions that queued nothing, and offers, are missing: ${forms.message}`]
      : []),
    ...(refusals ? [] : ['Requests that were refused are missing: no gateway answers, or Redis does not.']),
  ]
  return { isMasked: parts.mask.isMasked, entries, gaps, reading }
}
