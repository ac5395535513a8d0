import type { CatalogProject, CatalogView } from '@nextvisit/catalog'
import {
  type answerCollectorCalls,
  AnswerPosition,
  type CollectedAnswer,
  type FormAnswer,
  type FormFunnel,
  type FormFunnelsAnswer,
  type FormFunnelsQuery,
  type FormResults,
  type FormSummary,
  MAX_FUNNELS_ASKED,
  ROUTES,
  SlugId,
  TOO_MANY_DAYS,
  type userProjectorCalls,
} from '@nextvisit/contracts'
import { nameAnswers, usersOfAnswers } from '@nextvisit/domain'
import type { CallClient } from '@nextvisit/service-kit'
import { answer, type CheckedRequest, type Result, type Route } from '../http/route.ts'
import { REFUSALS, refuse } from '../refusals/refusals.ts'
import type { KnownErasures } from './erased-users.ts'
import { pageOf, parsePage, staleOf } from './page-query.ts'
import { parseEnvironment, parseResultsQuery } from './results-query.ts'

interface FormRoutesParts {
  readonly answerCollector: CallClient<typeof answerCollectorCalls>
  readonly userProjector: CallClient<typeof userProjectorCalls>
  readonly erasures: KnownErasures
  readonly catalog: Pick<CatalogView, 'formContent'>
}

/** Routes that read forms, their results and their answers (forms.md, Results). */
export function createFormRoutes(parts: FormRoutesParts): readonly Route[] {
  const { answerCollector, userProjector, erasures, catalog } = parts

  /** Lists the forms of the workspace file, and removed ones with counted steps, by id. */
  async function listForms({ parameters, project: place, deadlineAt }: CheckedRequest): Promise<Result> {
    const { organization, project } = place
    const parsed = parsePage(parameters, (after) => SlugId.safeParse(after).success)
    if (parsed.outcome === 'refused') return parsed
    const wanted = parseEnvironment(parameters)
    if (wanted.outcome === 'refused') return wanted
    const question = { organization, project, environment: wanted.environment, ...parsed.query }
    const read = await readFunnels(question, deadlineAt)
    if (!read) return refuse(REFUSALS.notRead('answer collector'))
    const counted = new Map(read.forms.map(({ formId, ...counts }) => [formId, counts]))
    const named = formsOf(place)
    const { limit, after = '' } = parsed.query
    const ids = [...new Set([...named.keys(), ...counted.keys()])].filter((id) => id > after).toSorted()
    const { page, next } = pageOf(
      ids.map((id) => ({ id })),
      limit,
    )
    const forms = page.map(({ id }): FormSummary => {
      const counts = counted.get(id) ?? { funnel: noSteps(), responseRate: null, unmatched: 0 }
      return { formId: id, ...(named.get(id) ?? REMOVED), ...counts }
    })
    // The collector may have more forms than it could answer.
    return answer(200, { forms, next: next ?? read.next, ...staleOf(read) })
  }

  /** Reads counts of any number of forms, in calls of at most {@link MAX_FUNNELS_ASKED}. undefined: the collector does not answer. */
  async function readFunnels(query: FormFunnelsQuery, deadlineAt: number): Promise<FormFunnelsAnswer | undefined> {
    const limit = Math.min(query.limit, MAX_FUNNELS_ASKED)
    const read = await answerCollector.readFormFunnels({ ...query, limit }, { deadlineAt })
    if (read.outcome !== 'answered') return undefined
    const { next, forms } = read.answer
    const left = query.limit - forms.length
    if (next === null || left <= 0) return read.answer
    const later = await readFunnels({ ...query, limit: left, after: next }, deadlineAt)
    return later && { ...read.answer, forms: [...forms, ...later.forms], next: later.next }
  }

  async function getFormResults({ parameters, project: place, deadlineAt }: CheckedRequest): Promise<Result> {
    const { organization, project } = place
    const parsed = parseResultsQuery(parameters)
    if (parsed.outcome === 'refused') return parsed
    const formId = formIdIn(parameters)
    if (formId === undefined) return refuse(REFUSALS.form)
    const { language: given, ...query } = parsed.query
    const language = given === undefined ? undefined : writtenLanguage(place, formId, given)
    const question = { organization, project, formId, ...query, ...(language !== undefined && { language }) }
    const read = await answerCollector.readFormResults(question, { deadlineAt })
    if (read.outcome === 'answered')
      return read.answer === TOO_MANY_DAYS ? refuse(REFUSALS.resultDays) : answer(200, read.answer)
    if (read.outcome !== 'not-found') return refuse(REFUSALS.notRead('answer collector'))
    return formsOf(place).has(formId) ? answer(200, noResults(language)) : refuse(REFUSALS.form)
  }

  async function listFormAnswers({ parameters, project: place, deadlineAt }: CheckedRequest): Promise<Result> {
    const { organization, project } = place
    const page = parsePage(parameters, (after) => AnswerPosition.safeParse(after).success)
    if (page.outcome === 'refused') return page
    const wanted = parseEnvironment(parameters)
    if (wanted.outcome === 'refused') return wanted
    const formId = formIdIn(parameters)
    if (formId === undefined) return refuse(REFUSALS.form)
    const form = { organization, project, formId, environment: wanted.environment }
    const read = await answerCollector.readFormAnswers({ ...form, ...page.query }, { deadlineAt })
    if (read.outcome === 'not-found' && formsOf(place).has(formId)) return answer(200, { answers: [], next: null })
    if (read.outcome === 'not-found') return refuse(REFUSALS.form)
    if (read.outcome !== 'answered') return refuse(REFUSALS.notRead('answer collector'))
    const { answers, next } = read.answer
    const named = await withNames(place, answers, deadlineAt)
    if (!named) return refuse(REFUSALS.notRead('user projector'))
    return answer(200, { answers: named, next, ...staleOf(read.answer) })
  }

  /** Adds the names of users, and leaves out answers of erased ones. undefined: the user projector is unavailable. */
  async function withNames(
    { organization, project }: CatalogProject,
    answers: readonly CollectedAnswer[],
    deadlineAt: number,
  ): Promise<readonly FormAnswer[] | undefined> {
    const users = usersOfAnswers({ organization, project }, answers)
    if (users.length === 0) return []
    const read = await userProjector.readUserNames({ questions: users }, { deadlineAt })
    return read.outcome === 'answered' ? nameAnswers(answers, users, read.answer.answers, erasures) : undefined
  }

  /** Returns the tag as the form writes it, if its present content has the language. */
  function writtenLanguage(place: CatalogProject, formId: string, given: string): string {
    const revision = place.config.forms.find(({ id }) => id === formId)?.content?.revision
    const languages = revision === undefined ? [] : (catalog.formContent(place, formId, revision)?.languages ?? [])
    return languages.find((tag) => tag.toLowerCase() === given.toLowerCase()) ?? given
  }

  return [
    { ...ROUTES.listForms, handle: listForms },
    { ...ROUTES.getFormResults, handle: getFormResults },
    { ...ROUTES.listFormAnswers, handle: listFormAnswers },
  ]
}

const REMOVED = { name: null, enabled: false, removed: true } as const

/** Returns the forms of the workspace file by id, also those that this version does not understand. */
function formsOf({
  config,
  notUnderstood,
}: CatalogProject): ReadonlyMap<string, Pick<FormSummary, 'name' | 'enabled'>> {
  const later = notUnderstood.filter(({ kind }) => kind === 'form')
  return new Map([
    ...later.map(({ id }) => [id, { name: null, enabled: false }] as const),
    ...config.forms.map(({ id, name, enabled }) => [id, { name: name ?? null, enabled }] as const),
  ])
}

function formIdIn(parameters: URLSearchParams): string | undefined {
  return SlugId.safeParse(parameters.get('formId')).data
}

/** `language`: such a funnel has no steps without a language. */
function noSteps(language?: string): FormFunnel {
  const ofLanguage = { delivered: 0, started: 0, finished: 0, dismissed: 0 }
  return language === undefined ? { queued: 0, ...ofLanguage, expired: 0 } : ofLanguage
}

function noResults(language?: string): FormResults {
  return { funnel: noSteps(language), responseRate: null, medianSecondsToAnswer: null, unmatched: 0, elements: [] }
}
