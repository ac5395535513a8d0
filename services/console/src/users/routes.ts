import type { Trigger } from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import { z } from 'zod'
import { findProject, NO_CATALOG, NO_PROJECT } from '../catalog/find-project.ts'
import type { KnownCatalog } from '../catalog/known-catalog.ts'
import { answered, type ApiRefusal, type ApiResult, type ApiRoute, apiRoute, refuse } from '../http/api-route.ts'
import { createAtATime } from '../http/at-a-time.ts'
import { isSameProject } from '../is-same-project.ts'
import type { ReadRefusals } from '../live/read-refusals.ts'
import { Nothing, ProjectsAnswer } from '../session/api.ts'
import { maskFor, revealedName } from '../session/mask.ts'
import {
  FindUser,
  type FindUser as Asked,
  FoundUser,
  TimelineAnswer,
  TimelineQuery,
  UserAnswer,
  UserFormsAnswer,
  UserPath,
} from './api.ts'
import { ALL_KEPT, findRefusal, type FoundRefusal } from './find-refusal.ts'
import type { FoundRequest } from './find-request.ts'
import { timelineEntriesOf } from './timeline-entries.ts'
import { userAnswerOf } from './user-answer.ts'
import { countedTriggers, userFormsAnswerOf } from './user-forms-answer.ts'
import type { UserLog, Users } from './users.ts'

export interface UserRoutesParts {
  readonly catalog: () => Promise<KnownCatalog>
  readonly users: Users
  readonly readRefusals: ReadRefusals
  readonly nowMs: () => number
}

const NO_REQUEST = refuse(
  404,
  'no-request',
  'No record has this requestId, and none of the refusals that were looked through: those that are kept of the chosen project and of nine others at most. Of each reason only the latest are kept, and a request with an Idempotency-Key cannot be found by its id: search for the userName.',
)
const NO_REFUSALS = refuse(
  503,
  'no-refusals',
  'No record has this requestId. Whether the request was refused is not known: the refusals could not all be read, as no gateway answers, or Redis does not. The Overview says more.',
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
export function createUserRoutes({ catalog, users, readRefusals, nowMs }: UserRoutesParts): readonly ApiRoute[] {
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
      if ('requestId' in asked) return fewAtATime(session, () => findByRequest(asked))
      const { organization, project, userName } = asked
      if (!userName.isWellFormed()) return refuse(400, 'bad-input', 'userName: must hold no lone surrogates')
      const found = await findProject(catalog, asked)
      if (found.outcome === 'refused') return found
      return answered({ organization, project, userId: userIdOf(organization, project, userName) })
    },
  })

  async function findByRequest(asked: Extract<Asked, { requestId: string }>): Promise<ApiResult<UserPath>> {
    const found = await users.findRequest(asked.requestId).catch(() => undefined)
    if (found?.outcome === 'found') {
      const { organization, project, userId } = found.fact
      return answered({ organization, project, userId })
    }
    const others = (await knownCatalog())?.projects() ?? []
    const search = await findRefusal(
      readRefusals,
      [asked, ...others.filter((other) => !isSameProject(asked, other))],
      asked.requestId,
    )
    if (search.outcome !== 'found') {
      if (!found) return NO_LOG
      if (found.outcome === 'too-many-records') return notAllRead(asked.requestId, found)
      return search.outcome === 'missing' ? NO_REQUEST : NO_REFUSALS
    }
    const { organization, project, refusal } = search
    return refusal.userId === undefined
      ? refusedNobody(search)
      : answered({ organization, project, userId: refusal.userId })
  }

  const readUser = apiRoute({
    method: 'GET',
    path: 'users/:organization/:project/:userId',
    role: 'viewer',
    input: UserPath,
    answer: UserAnswer,
    handle: async (path, session) => {
      const [known, user] = await Promise.all([knownCatalog(), users.readUser(path)])
      const found = known?.project(path.organization, path.project)
      if (known && !found) return NO_PROJECT
      if (user.outcome === 'refused') return user
      const mask = maskFor(session, revealedName(path))
      return answered(userAnswerOf({ path, user: user.answer, config: found?.config, mask }))
    },
  })

  const readUserForms = apiRoute({
    method: 'GET',
    path: 'users/:organization/:project/:userId/forms',
    role: 'viewer',
    input: UserPath,
    answer: UserFormsAnswer,
    handle: async (path, session) => {
      const [known, forms] = await Promise.all([knownCatalog(), users.readForms(path)])
      if (forms.outcome === 'refused') return forms
      const model = forms.answer
      const config = known?.project(path.organization, path.project)?.config
      const mask = maskFor(session, revealedName(path))
      const counts = await users.readTriggerCounts(path, model ? countedTriggers({ model, config, mask }) : [])
      const soFar = (trigger: Trigger) => counts.get(trigger)
      return answered(userFormsAnswerOf({ model, config, soFar, mask, nowMs: nowMs() }))
    },
  })

  const readTimeline = apiRoute({
    method: 'GET',
    path: 'users/:organization/:project/:userId/timeline',
    role: 'viewer',
    input: TimelineQuery,
    answer: TimelineAnswer,
    handle: async ({ depth, request, ...path }, session) => {
      const readLog = () => users.readLog(path, depth).then(answered<UserLog>, () => NO_LOG)
      const [read, forms, refusals, known] = await Promise.all([
        fewAtATime(session, readLog),
        users.readForms(path),
        readRefusals(path, ALL_KEPT),
        knownCatalog(),
      ])
      if (read.outcome === 'refused') return read
      const mask = maskFor(session, revealedName(path))
      const { facts, formFacts, reading } = read.answer
      const entries = timelineEntriesOf({
        facts,
        formFacts,
        forms: forms.outcome === 'answered' ? (forms.answer ?? { forms: [], queue: [] }) : undefined,
        refusals: (refusals ?? []).filter(({ userId }) => userId === path.userId),
        config: known?.project(path.organization, path.project)?.config,
        request,
        since: reading.since,
        mask,
      })
      const gaps = [
        ...(forms.outcome === 'refused'
          ? [`Decisions that queued nothing, and offers, are missing: ${forms.message}`]
          : []),
        ...(refusals ? [] : ['Requests that were refused are missing: no gateway answers, or Redis does not.']),
      ]
      return answered({ isMasked: mask.isMasked, entries, gaps, reading })
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

  return [listProjects, findUser, readUser, readUserForms, readTimeline, revealUser]
}

function refusedNobody({ organization, project, refusal: { at, status, message } }: FoundRefusal): ApiRefusal {
  return refuse(
    404,
    'refused-nobody',
    `This request to ${organization}/${project} was refused at ${at} with ${status}, before it named a user: ${message}`,
  )
}

/** Whether the request left a record is not known, and trying again would not tell. */
function notAllRead(
  requestId: string,
  { read, fromMs, untilMs }: Extract<FoundRequest, { outcome: 'too-many-records' }>,
): ApiRefusal {
  const [from, to] = [fromMs, untilMs].map((ms) => new Date(ms).toISOString())
  return refuse(
    503,
    'not-all-read',
    `Not all of the log was looked through: it holds more than ${read.toLocaleString('en')} records around the time of this requestId. None of those that were read has it, and no refusal that could be read. Search for the userName, or search the log on a terminal: nextvisit export --from ${from} --to ${to} --out - | grep ${requestId}`,
  )
}
