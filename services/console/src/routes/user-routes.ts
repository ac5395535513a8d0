import { userIdOf } from '@nextvisit/domain'
import { z } from 'zod'
import { Nothing, ProjectsAnswer } from '../api/session.ts'
import { FindUser, FoundUser, TimelineAnswer, TimelineQuery, UserAnswer, UserPath } from '../api/users.ts'
import { answered, type ApiResult, type ApiRoute, apiRoute, refuse } from '../http/api-route.ts'
import { createAtATime } from '../http/at-a-time.ts'
import type { KnownCatalog } from '../known-catalog.ts'
import { maskFor, revealedName } from '../users/mask.ts'
import { timelineEntriesOf } from '../users/timeline-entries.ts'
import type { UserLog, Users } from '../users/users.ts'
import { userAnswerOf } from '../users/user-answer.ts'
import { findProject, NO_CATALOG, NO_PROJECT } from './find-project.ts'

export interface UserRoutesParts {
  readonly catalog: () => Promise<KnownCatalog>
  readonly users: Users
}

const NO_REQUEST = refuse(
  404,
  'no-request',
  'No record has this requestId. Requests that were refused leave none, and one with an Idempotency-Key cannot be found by its id: search for the userName.',
)
const NO_LOG = refuse(503, 'no-log', 'Kafka does not answer, so the log cannot be read. The Overview says more.')

const TOO_MANY_READS = refuse(
  429,
  'too-many-reads',
  'Two pages of this session search the log already. Wait until one has ended, then try again.',
)
/** Each reads up to 100,000 records. */
const READS_AT_A_TIME = 2

/** Projects, and what is known of one user. */
export function createUserRoutes({ catalog, users }: UserRoutesParts): readonly ApiRoute[] {
  const knownCatalog = () => catalog().catch(() => undefined)
  const fewAtATime = createAtATime(READS_AT_A_TIME, TOO_MANY_READS)

  const listProjects = apiRoute({
    method: 'GET',
    path: 'projects',
    role: 'viewer',
    input: Nothing,
    answer: ProjectsAnswer,
    handle: async () => {
      const known = await knownCatalog()
      if (!known) return NO_CATALOG
      return answered({ projects: known.projects().map(({ organization, project }) => ({ organization, project })) })
    },
  })

  /** A `POST`, since a userName must not stand in an address, which proxies log. */
  const findUser = apiRoute({
    method: 'POST',
    path: 'users/find',
    role: 'viewer',
    input: FindUser,
    answer: FoundUser,
    handle: async (asked, session) => {
      if ('requestId' in asked) return fewAtATime(session, () => findByRequest(asked.requestId))
      const { organization, project, userName } = asked
      if (!userName.isWellFormed()) return refuse(400, 'bad-input', 'userName: must hold no lone surrogates')
      const found = await findProject(catalog, asked)
      if (found.outcome === 'refused') return found
      return answered({ organization, project, userId: userIdOf(organization, project, userName) })
    },
  })

  async function findByRequest(requestId: string) {
    const found = await users.findRequest(requestId).catch(() => undefined)
    if (!found) return NO_LOG
    if (found.outcome === 'missing') return NO_REQUEST
    const { organization, project, userId } = found.fact
    return answered({ organization, project, userId })
  }

  const readUser = apiRoute({
    method: 'GET',
    path: 'users/:organization/:project/:userId',
    role: 'viewer',
    input: UserPath,
    answer: UserAnswer,
    handle: async (path, session) => {
      const [known, user, forms] = await Promise.all([knownCatalog(), users.readUser(path), users.readForms(path)])
      if (known && !known.project(path.organization, path.project)) return NO_PROJECT
      for (const part of [user, forms]) if (part.outcome === 'refused') return part
      const config = known?.project(path.organization, path.project)?.config
      return answered(
        userAnswerOf({
          path,
          user: modelOf(user),
          forms: modelOf(forms),
          config,
          mask: maskFor(session, revealedName(path)),
        }),
      )
    },
  })

  const readTimeline = apiRoute({
    method: 'GET',
    path: 'users/:organization/:project/:userId/timeline',
    role: 'viewer',
    input: TimelineQuery,
    answer: TimelineAnswer,
    handle: async ({ depth, ...path }, session) => {
      const readLog = () => users.readLog(path, depth).then(answered<UserLog>, () => NO_LOG)
      const [read, forms] = await Promise.all([fewAtATime(session, readLog), users.readForms(path)])
      if (read.outcome === 'refused') return read
      if (forms.outcome === 'refused') return forms
      const model = modelOf(forms)
      const mask = maskFor(session, revealedName(path))
      const { facts, formFacts, reading } = read.answer
      const entries = timelineEntriesOf({
        facts,
        formFacts,
        decisions: model?.forms ?? [],
        queue: model?.queue ?? [],
        since: reading.since,
        mask,
      })
      return answered({ isMasked: mask.isMasked, entries, reading })
    },
  })

  const revealUser = apiRoute({
    method: 'POST',
    path: 'users/:organization/:project/:userId/reveal',
    role: 'viewer',
    input: UserPath,
    answer: z.strictObject({}),
    logged: ({ organization, project, userId }) => ({ organization, project, userId }),
    handle: async (path, session) => {
      const found = await findProject(catalog, path)
      if (found.outcome === 'refused') return found
      session.revealed.add(revealedName(path))
      return answered({})
    },
  })

  return [listProjects, findUser, readUser, readTimeline, revealUser]
}

function modelOf<Model>(result: ApiResult<Model>): Model | undefined {
  return result.outcome === 'answered' ? result.answer : undefined
}
