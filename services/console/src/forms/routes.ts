import type { CatalogProject } from '@nextvisit/catalog'
import {
  type Form,
  type FormDaysAnswer,
  type FormResults,
  type FormResultsAnswer,
  type GateCountsQuery,
  MAX_RESULT_DAYS,
  type OpenFormRow,
  TOO_MANY_DAYS,
} from '@nextvisit/contracts'
import { treeInWords, triggerInWords } from '@nextvisit/domain'
import { createInProject } from '../catalog/find-project.ts'
import type { Dependencies } from '../dependencies.ts'
import { answered, type ApiResult, serveApi } from '../http/api-route.ts'
import { formatCursor } from '../http/cursor.ts'
import { maskFor, revealedName } from '../http/mask.ts'
import { noAnswerOf, NOT_FOUND } from '../services.ts'
import { createReadUserNames } from '../user-names.ts'
import { answeredOffer } from './answered-offer.ts'
import { type FormPath, formsApi, type FormSummary } from './api.ts'
import { createReadCountedForms } from './counted-forms.ts'
import { contentIn, createReadContent } from './form-content.ts'
import { shownElements } from './form-results.ts'
import { createReadNamedAnswers } from './named-answers.ts'
import { formSettingsOf } from './form-settings.ts'
import { listedForm, openOf, periodOf, stoppedOf } from './form-summary.ts'
import { dayOf, daysAfter, scoreTrends } from './score-trends.ts'
import { shortened } from './shortened.ts'

/** Maximum count of open forms: of each form of a list, and of a form alone. */
const COUNT_UP_TO_IN_LIST = 500
const COUNT_UP_TO = 20_000
const FORMS_A_PAGE = 50
const ROWS_A_PAGE = 50
const ANSWERS_A_PAGE = 50
/** Hours of the gates in the list. */
const HOURS_IN_LIST = 24
const NO_EVALUATOR = noAnswerOf('form-trigger-evaluator')
const NO_FUNNEL = {
  funnel: { queued: 0, delivered: 0, started: 0, finished: 0, dismissed: 0, expired: 0 },
  responseRate: null,
}
const NO_RESULTS: FormResults = { ...NO_FUNNEL, medianSecondsToAnswer: null, unmatched: 0, elements: [] }
const NO_DAYS: FormDaysAnswer = { days: [] }

type FormRoutesParts = Pick<
  Dependencies,
  'catalog' | 'contents' | 'collector' | 'evaluator' | 'evaluators' | 'gateway' | 'projector' | 'nowMs'
>

export function createFormRoutes(parts: FormRoutesParts) {
  const { catalog, contents, collector, evaluator, evaluators, nowMs } = parts
  const readUserNames = createReadUserNames(parts)
  const readNamedAnswers = createReadNamedAnswers(parts)
  const readCountedForms = createReadCountedForms(parts)
  const inProject = createInProject(catalog)
  const readContent = createReadContent(contents)
  const readGates = async (query: GateCountsQuery, signal: AbortSignal) =>
    Promise.all(
      (await evaluators()).map(async ({ readGateCounts }) => {
        const counts = await readGateCounts(query, signal)
        return counts.outcome === 'answered' ? counts.answer : undefined
      }),
    )

  /** Reads the current content of a form. Without Kafka, elements have no words. */
  async function contentOf(project: CatalogProject, formId: string) {
    const current = await readContent(project, formId)
    return current.outcome === 'answered' ? current.answer?.content : undefined
  }

  return serveApi(formsApi, {
    listForms: inProject(async ({ config: { forms } }, { environment, find, page, ...path }, _session, signal) => {
      const counted = await readCountedForms(path, signal)
      if (counted.outcome === 'refused') return counted
      const byId = new Map(forms.map((form) => [form.id, form]))
      const removed = counted.answer.filter((id) => !byId.has(id)).map((id) => ({ id }))
      const all = [...forms, ...removed]
      const wanted = all.filter(isNamed(find))
      const formIds = wanted.slice((page - 1) * FORMS_A_PAGE, page * FORMS_A_PAGE).map(({ id }) => id)
      const query = { ...path, formIds }
      const [processes, open, funnels] = await Promise.all([
        readGates({ ...query, hours: HOURS_IN_LIST }, signal),
        evaluator.readOpenCounts({ ...query, countUpTo: COUNT_UP_TO_IN_LIST }, signal),
        collector.readFormFunnels({ ...query, environment, limit: FORMS_A_PAGE }, signal),
      ])
      const period = periodOf(processes, HOURS_IN_LIST, nowMs())
      if (!period) return NO_EVALUATOR
      if (open.outcome === 'refused') return open
      if (funnels.outcome === 'refused') return funnels
      const funnelOf = new Map(funnels.answer.forms.map((form) => [form.formId, form]))
      const lines = formIds.map((formId, index): FormSummary => {
        const { funnel, responseRate } = funnelOf.get(formId) ?? NO_FUNNEL
        const listed = listedForm(formId, byId.get(formId), nowMs())
        return {
          ...listed,
          funnel,
          responseRate,
          stopped: stoppedOf(processes, index),
          open: openOf(open.answer, index),
        }
      })
      return answered({
        period,
        isStale: funnels.answer.stale ?? false,
        forms: lines,
        found: wanted.length,
        pageSize: FORMS_A_PAGE,
        total: all.length,
      })
    }),
    readForm: inProject(({ config }, { formId }) => {
      const form = config.forms.find(({ id }) => id === formId)
      return answered({
        ...listedForm(formId, form, nowMs()),
        triggers: (form?.triggers ?? []).map(triggerInWords).map(shortened),
        audience: form?.audience ? shortened(treeInWords(form.audience)) : null,
        startsAt: parseInstant(form?.startsAt),
        endsAt: parseInstant(form?.endsAt),
        settings: form ? formSettingsOf(form, config) : [],
      })
    }),
    readFormResults: inProject(async (project, { days, ...query }, _session, signal) => {
      const today = dayOf(nowMs())
      const to = daysAfter(today, 1)
      const from = days === 'all' ? null : daysAfter(to, -Number(days))
      const chartsFrom = from ?? daysAfter(to, -MAX_RESULT_DAYS)
      const [content, ...read] = await Promise.all([
        contentOf(project, query.formId),
        collector.readFormResults({ ...query, ...(from !== null && { from, to }) }, signal),
        collector.readFormDays({ ...query, days: { from: chartsFrom, to } }, signal),
      ])
      const [results, byDay] = [orEmpty<FormResultsAnswer>(read[0], NO_RESULTS), orEmpty(read[1], NO_DAYS)]
      if (results.outcome === 'refused') return results
      if (byDay.outcome === 'refused') return byDay
      if (results.answer === TOO_MANY_DAYS) throw new RangeError(`The console asked for ${TOO_MANY_DAYS}`)
      const { stale = false, elements, ...figures } = results.answer
      return answered({
        ...figures,
        from,
        chartsFrom,
        to: today,
        languages: content?.languages ?? [],
        isStale: stale,
        elements: shownElements(elements, content),
        trends: scoreTrends(byDay.answer.days, from, today),
      })
    }),
    readFormAnswers: inProject(async (project, query, session, signal) => {
      const [content, page] = await Promise.all([
        contentOf(project, query.formId),
        collector.readFormAnswers({ ...query, limit: ANSWERS_A_PAGE }, signal),
      ])
      if (page.outcome === 'refused') return page
      const { answers, next, stale = false } = page.answer
      const shown = await readNamedAnswers(query, answers, signal)
      if (shown.outcome === 'refused') return shown
      const mask = maskFor(session, nameOf(query))
      return answered({
        isMasked: mask.isMasked,
        isStale: stale,
        answers: shown.answer.map((one) => answeredOffer(one, content, mask)),
        leftOut: answers.length - shown.answer.length,
        next,
      })
    }),
    revealFormAnswers: inProject(async (_project, path, { revealed }) => {
      await revealed.add(nameOf(path))
      return answered({})
    }),
    readFormQueue: inProject(async (_project, { formId, hours, after, ...path }, session, signal) => {
      const query = { ...path, formIds: [formId] }
      const [processes, open, page] = await Promise.all([
        readGates({ ...query, hours }, signal),
        evaluator.readOpenCounts({ ...query, countUpTo: COUNT_UP_TO }, signal),
        evaluator.readOpenRows({ ...path, formId, limit: ROWS_A_PAGE, after }, signal),
      ])
      const period = periodOf(processes, hours, nowMs())
      if (!period) return NO_EVALUATOR
      if (open.outcome === 'refused') return open
      if (page.outcome === 'refused') return page
      const { rows, next } = page.answer
      const userIds = rows.map(({ userId }) => userId)
      const names = await readUserNames(userIds, path, signal)
      const shownName = ({ userId }: OpenFormRow, name: string | null) =>
        name === null ? null : maskFor(session, revealedName({ ...path, userId })).userName(name)
      return answered({
        stopped: stoppedOf(processes, 0),
        open: openOf(open.answer, 0),
        period,
        rows: rows.map((row, index) => ({ ...row, userName: shownName(row, names[index] ?? null) })),
        next: next && formatCursor(next.queuedAt, next.queuedId),
      })
    }),
    readFormContent: inProject(async (project, { formId, language }) => {
      const current = await readContent(project, formId)
      if (current.outcome === 'refused') return current
      return answered({ content: current.answer ? contentIn(current.answer, language) : null })
    }),
  })
}

/** Replaces the refusal that nothing of a form was ever counted. */
function orEmpty<Answer>(result: ApiResult<Answer>, empty: Answer): ApiResult<Answer> {
  return result.outcome === 'refused' && result.error === NOT_FOUND ? answered(empty) : result
}

/** Name among the revealed data of a session. No user has such a name. */
function nameOf({ organization, project, formId }: FormPath): string {
  return `${organization}/${project}/answers to ${formId}`
}

function isNamed(text: string): (form: Pick<Form, 'id' | 'name'>) => boolean {
  const wanted = text.trim().toLowerCase()
  return ({ id, name = '' }) => id.includes(wanted) || name.toLowerCase().includes(wanted)
}

/** Converts a date of the workspace file, which may have any offset. */
function parseInstant(date: string | undefined): string | null {
  return date === undefined ? null : new Date(date).toISOString()
}
