import { type CatalogProject, readCatalog } from '@nextvisit/catalog'
import { formTriggerEvaluatorCalls, type FormsReadModel, type ProjectRef } from '@nextvisit/contracts'
import { checkUserName, userIdOf } from '@nextvisit/domain'
import {
  addressesConfig,
  createCallClient,
  createInternalClient,
  type EnvironmentVariables,
  internalTokenConfig,
} from '@nextvisit/service-kit'
import { logConnection, readSettings } from '../environment/config.ts'
import { CliError, EXIT } from '../errors.ts'
import { findProject, knownNames } from '../find-project.ts'

export interface WhyQuestion {
  /** Project id, or `organization/project`. */
  readonly project: string
  readonly user: string
  readonly form?: string
}

/** Output of `nextvisit why --json`: the answer of `GET /v2/admin/users/{userName}/forms`, reduced to the requested form. */
export interface Why extends ProjectRef, FormsReadModel {
  readonly userId: string
  readonly userName: string
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
  const baseUrls = services['form-trigger-evaluator']
  const send = createInternalClient({ baseUrls, token, timeoutMs: ANSWER_WITHIN_MS })
  const asked = await createCallClient(formTriggerEvaluatorCalls, send).readForms({ organization, project, userId })
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
    const because = asked.cause.message.includes('answered 401')
      ? 'refuses INTERNAL_TOKEN: set the token that it was started with, or unset it if a local stack runs here'
      : 'cannot answer now: it is unavailable or lags far behind. See nextvisit status'
    const message = `The form trigger evaluator ${because}.`
    throw new CliError(message, EXIT.failed, { cause: asked.cause })
  }
  const { forms, queue } = ofForm(asked.answer, form)
  if (form !== undefined && forms.length === 0) requireForm(found, form)
  return { organization, project, userId, userName, forms, queue }
}

function ofForm({ forms, queue }: FormsReadModel, form: string | undefined): FormsReadModel {
  if (form === undefined) return { forms, queue }
  return { forms: forms.filter(({ formId }) => formId === form), queue: queue.filter(({ formId }) => formId === form) }
}

/** Throws unless a form without a decision is in the workspace: it may be of a later version, or misspelt. */
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
