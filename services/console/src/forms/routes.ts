import type { Form, FormStepsQuery, OpenFormRow, ProjectRef } from '@nextvisit/contracts'
import { treeInWords, triggerInWords } from '@nextvisit/domain'
import { createInProject } from '../catalog/find-project.ts'
import type { Dependencies } from '../dependencies.ts'
import { answered, serveApi } from '../http/api-route.ts'
import { formatCursor } from '../http/cursor.ts'
import { maskFor, revealedName } from '../http/mask.ts'
import type { Session } from '../http/sessions.ts'
import { noAnswerOf } from '../services.ts'
import { formsApi } from './api.ts'
import { contentIn, createReadContent } from './form-content.ts'
import { formSettingsOf } from './form-settings.ts'
import { figuresOf, formSummaryOf, openOf, periodOf, stateOf } from './form-summary.ts'
import { shortened } from './shortened.ts'

/** Maximum count of open forms: of each form of a list, and of a form alone. */
const COUNT_UP_TO_IN_LIST = 500
const COUNT_UP_TO = 20_000
const FORMS_A_PAGE = 50
const ROWS_A_PAGE = 50
const NO_EVALUATOR = noAnswerOf('form-trigger-evaluator')

export function createFormRoutes({
  catalog,
  contents,
  evaluator,
  evaluators,
  projector,
  nowMs,
}: Pick<Dependencies, 'catalog' | 'contents' | 'evaluator' | 'evaluators' | 'projector' | 'nowMs'>) {
  const inProject = createInProject(catalog)
  const readContent = createReadContent(contents)
  const readSteps = (query: FormStepsQuery, signal: AbortSignal) =>
    Promise.all(
      evaluators.map(async ({ readFormSteps }) => {
        const steps = await readFormSteps(query, signal)
        return steps.outcome === 'answered' ? steps.answer : undefined
      }),
    )

  /** Adds the userNames, as far as the projector answers. */
  async function withNames(rows: readonly OpenFormRow[], project: ProjectRef, session: Session, signal: AbortSignal) {
    const questions = rows.map(({ userId }) => ({ ...project, userId }))
    const read = await projector.readUserNames({ questions }, signal)
    const named = read.outcome === 'answered' ? read.answer.answers : []
    return rows.map((row, index) => {
      const { userName: shown } = maskFor(session, revealedName({ ...project, userId: row.userId }))
      const userName = named[index]?.userName ?? null
      return { ...row, userName: userName === null ? null : shown(userName) }
    })
  }

  return serveApi(formsApi, {
    listForms: inProject(async ({ config: { forms: all } }, { hours, find, page, ...path }, _session, signal) => {
      const wanted = all.filter(isNamed(find))
      const shown = wanted.slice((page - 1) * FORMS_A_PAGE, page * FORMS_A_PAGE)
      const query = { ...path, formIds: shown.map(({ id }) => id) }
      const [processes, open] = await Promise.all([
        readSteps({ ...query, hours }, signal),
        evaluator.readOpenCounts({ ...query, countUpTo: COUNT_UP_TO_IN_LIST }, signal),
      ])
      const period = periodOf(processes, hours, nowMs())
      if (!period) return NO_EVALUATOR
      if (open.outcome === 'refused') return open
      const parts = { processes, open: open.answer, nowMs: nowMs() }
      return answered({
        period,
        forms: shown.map((form, index) => formSummaryOf({ ...parts, formId: form.id, form, index })),
        found: wanted.length,
        pageSize: FORMS_A_PAGE,
        total: all.length,
      })
    }),
    readForm: inProject(({ config }, { formId }) => {
      const form = config.forms.find(({ id }) => id === formId)
      return answered({
        formId,
        name: form?.name ?? null,
        state: stateOf(form, nowMs()),
        triggers: (form?.triggers ?? []).map(triggerInWords).map(shortened),
        audience: form?.audience ? shortened(treeInWords(form.audience)) : null,
        startsAt: parseInstant(form?.startsAt),
        endsAt: parseInstant(form?.endsAt),
        settings: form ? formSettingsOf(form, config) : [],
      })
    }),
    readFormQueue: inProject(async (_project, { formId, hours, after, ...path }, session, signal) => {
      const query = { ...path, formIds: [formId] }
      const [processes, open, page] = await Promise.all([
        readSteps({ ...query, hours }, signal),
        evaluator.readOpenCounts({ ...query, countUpTo: COUNT_UP_TO }, signal),
        evaluator.readOpenRows({ ...path, formId, limit: ROWS_A_PAGE, after }, signal),
      ])
      const period = periodOf(processes, hours, nowMs())
      if (!period) return NO_EVALUATOR
      if (open.outcome === 'refused') return open
      if (page.outcome === 'refused') return page
      const { rows, next } = page.answer
      return answered({
        figures: figuresOf(processes, 0),
        open: openOf(open.answer, 0),
        period,
        rows: await withNames(rows, path, session, signal),
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

function isNamed(text: string): (form: Form) => boolean {
  const wanted = text.trim().toLowerCase()
  return ({ id, name = '' }) => id.includes(wanted) || name.toLowerCase().includes(wanted)
}

/** Converts a date of the workspace file, which may have any offset. */
function parseInstant(date: string | undefined): string | null {
  return date === undefined ? null : new Date(date).toISOString()
}
