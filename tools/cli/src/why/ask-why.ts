import { type CatalogProject, readCatalog } from '@nextvisit/catalog'
import {
  formTriggerEvaluatorCalls,
  type FormsReadModel,
  MAX_COUNTED_TRIGGERS,
  type ProjectRef,
} from '@nextvisit/contracts'
import {
  checkUserName,
  explainForms,
  type FormExplanation,
  progressByTrigger,
  triggersToCount,
  userIdOf,
} from '@nextvisit/domain'
import {
  addressesConfig,
  createCallClient,
  createInternalClient,
  type EnvironmentVariables,
  internalTokenConfig,
} from '@nextvisit/service-kit'
import { logConnection, readSettings } from '../environment/config.ts'
import { CliError, EXIT, isTokenRefused } from '../errors.ts'
import { findProject, knownNames, type ProjectName } from '../find-project.ts'

export interface WhyQuestion {
  readonly project: ProjectName
  readonly user: string
  readonly form?: string
}

/**
 * Output of `nextvisit why --json`: the answer of `GET /v2/admin/users/{userName}/forms`, reduced to the requested form, and
 * the explanation of each form, also without a decision.
 */
export interface Why extends ProjectRef, FormsReadModel {
  readonly userId: string
  readonly userName: string
  readonly explanations: readonly FormExplanation[]
}

const ANSWER_WITHIN_MS = 10_000

const evaluatorConfig = addressesConfig('form-trigger-evaluator').and(internalTokenConfig)

/** Asks the evaluator. Throws a {@link CliError} with the remedy if a name is unknown or the evaluator does not answer. */
export async function askWhy(env: EnvironmentVariables, question: WhyQuestion, topic: string): Promise<Why> {
  const { user: userName, form } = question
  const rejection = checkUserName(userName)
  if (rejection) throw new CliError(`--user: ${rejection.message}.`, EXIT.usage)
  const connection = logConnection(env)
  const { services, internalToken: token } = readSettings(evaluatorConfig, env)
  const { state } = await readCatalog(connection, topic)
  const found = findProject(state, question.project)
  const { organization, project } = found
  const userId = userIdOf(organization, project, userName)
  const addresses = services['form-trigger-evaluator']
  const send = createInternalClient({ addresses, token, timeoutMs: ANSWER_WITHIN_MS })
  const evaluator = createCallClient(formTriggerEvaluatorCalls, send)
  const asked = await evaluator.readForms({ organization, project, userId })
  if (asked.outcome === 'not-found') {
    throw new CliError(
      `${organization}/${project} has no user ${userName}. Names must be exactly as given to identify-user.`,
    )
  }
  if (asked.outcome === 'behind') {
    throw new CliError(
      'The form trigger evaluator lags behind the log: try again. nextvisit status shows the lag.',
      EXIT.failed,
    )
  }
  if (asked.outcome === 'unavailable') {
    const because = isTokenRefused(asked.cause)
      ? 'refuses INTERNAL_TOKEN: set the token that it was started with, or unset it if a local stack runs here'
      : 'cannot answer now: it is unavailable or lags far behind. See nextvisit status'
    const message = `The form trigger evaluator ${because}.`
    throw new CliError(message, EXIT.failed, { cause: asked.cause })
  }
  const { forms, queue } = ofForm(asked.answer, form)
  if (form !== undefined && forms.length + queue.length === 0) requireForm(found, form)
  const triggers = triggersToCount(
    found.config.forms.filter(({ id }) => form === undefined || form === id),
    { seesValues: true },
  ).slice(0, MAX_COUNTED_TRIGGERS)
  const counted = await evaluator.readTriggerCounts({ organization, project, userId, triggers })
  const progress = counted.outcome === 'answered' ? progressByTrigger(triggers, counted.answer) : undefined
  const explained = explainForms({
    forms,
    queue,
    workspace: found,
    progressOf: (trigger) => progress?.get(trigger),
    nowMs: Date.now(),
  })
  const explanations = explained.filter(({ formId }) => form === undefined || form === formId)
  return { organization, project, userId, userName, forms, queue, explanations }
}

function ofForm({ forms, queue }: FormsReadModel, form: string | undefined): FormsReadModel {
  if (form === undefined) return { forms, queue }
  return { forms: forms.filter(({ formId }) => formId === form), queue: queue.filter(({ formId }) => formId === form) }
}

/** Throws unless a form without a decision and without a row is in the workspace: it may be of a later version, or misspelt. */
function requireForm({ config, notUnderstood }: CatalogProject, form: string): void {
  const later = notUnderstood.find(({ kind, id }) => kind === 'form' && id === form)
  if (later) {
    throw new CliError(
      `This version does not understand the form ${form} (${later.reason}), so it never queues the form: see docs/runbooks/upgrade.md.`,
    )
  }
  const ids = config.forms.map(({ id }) => id)
  if (!ids.includes(form))
    throw new CliError(`Project ${config.id} has no form ${form}. ${knownNames('form', ids)}`, EXIT.usage)
}
