import { readCatalog } from '@nextvisit/catalog'
import { type ProjectRef, webhookDispatcherCalls } from '@nextvisit/contracts'
import {
  type Addresses,
  addressesConfig,
  type CallClient,
  type CallOutcome,
  createCallClient,
  createForEachProcess,
  createInternalClient,
  type EnvironmentVariables,
  internalTokenConfig,
} from '@nextvisit/service-kit'
import { endOfCall, type WantedChange } from '@nextvisit/operator-changes'
import { recordChange } from '../changes/record-change.ts'
import { logConnection, readEnvironment, readSettings } from '../environment/config.ts'
import { CliError, EXIT, isTokenRefused } from '../errors.ts'
import { completeProject, findProject, knownNames, type ProjectName, projectName } from '../find-project.ts'

export type DispatcherClient = CallClient<typeof webhookDispatcherCalls>

/** The dispatcher, as a command about the webhooks of one project asks it. */
export interface Dispatcher {
  readonly place: ProjectRef
  readonly env: EnvironmentVariables
  /** Asks any of its processes. */
  readonly any: DispatcherClient
  /** The same, and waits longer: for commands to many deliveries. */
  readonly patient: DispatcherClient
  /** Returns the processes that exist now, by their addresses. */
  readonly each: () => Promise<ReadonlyMap<string, DispatcherClient>>
  /** Throws a {@link CliError} unless the workspace has the webhook. `undefined`: unless it has the project. */
  readonly requireInWorkspace: (endpointId: string | undefined) => Promise<void>
}

/** A command must not hang with the dispatcher, ms. */
const ANSWER_WITHIN_MS = 5_000
const MANY_WITHIN_MS = 30_000

/** Reads the addresses in the environment, and the organization of the project in the catalog. */
export async function connectDispatcher(project: ProjectName, topic: string): Promise<Dispatcher> {
  const env = readEnvironment()
  const config = addressesConfig('webhook-dispatcher').and(internalTokenConfig)
  const { services, internalToken: token } = readSettings(config, env)
  const clientOf = (addresses: Addresses, timeoutMs = ANSWER_WITHIN_MS) =>
    createCallClient(webhookDispatcherCalls, createInternalClient({ addresses, token, timeoutMs }))
  const place = await completeProject(project, env, topic)
  const addresses = services['webhook-dispatcher']
  return {
    place,
    env,
    any: clientOf(addresses),
    patient: clientOf(addresses, MANY_WITHIN_MS),
    each: createForEachProcess(addresses, (own) => clientOf(own)),
    requireInWorkspace: async (endpointId) => {
      if (env['KAFKA_BROKERS'] === undefined) return
      const { state } = await readCatalog(logConnection(env), topic)
      const { config: found, notUnderstood } = findProject(state, place)
      if (endpointId === undefined) return
      const later = notUnderstood.find(({ kind, id }) => kind === 'webhook' && id === endpointId)
      if (later) {
        throw new CliError(
          `This version does not understand the webhook ${endpointId} (${later.reason}), so it waits: see docs/runbooks/upgrade.md.`,
        )
      }
      const ids = found.webhooks.map(({ id }) => id)
      if (ids.includes(endpointId)) return
      throw new CliError(
        `Project ${projectName(place)} has no webhook ${endpointId}. ${knownNames('webhook', ids)}`,
        EXIT.usage,
      )
    },
  }
}

/** Returns an answer; undefined if nothing was found. Throws a {@link CliError} with the remedy if the dispatcher does not answer. */
export function answerOf<Answer>(asked: CallOutcome<Answer>): Answer | undefined {
  switch (asked.outcome) {
    case 'answered':
      return asked.answer
    case 'not-found':
      return undefined
    case 'behind':
      throw new CliError('The webhook dispatcher lags behind the log: try again. nextvisit status shows the lag.')
    case 'unavailable':
      throw unavailable(asked.cause)
  }
}

export function unavailable(cause: Error): CliError {
  const because = isTokenRefused(cause)
    ? 'refuses INTERNAL_TOKEN: set the token that it was started with, or unset it if a local stack runs here'
    : 'cannot answer now: see nextvisit status'
  return new CliError(`The webhook dispatcher ${because}.`, EXIT.failed, { cause })
}

/** Returns an answer about a webhook. If the dispatcher does not know it, throws a {@link CliError} with the reason. */
export async function answerAbout<Answer>(
  { requireInWorkspace }: Dispatcher,
  endpointId: string,
  asked: CallOutcome<Answer>,
  notFound = `The webhook dispatcher does not know the webhook ${endpointId} yet: try again.`,
): Promise<Answer> {
  const answer = answerOf(asked)
  if (answer !== undefined) return answer
  await requireInWorkspace(endpointId)
  throw new CliError(notFound)
}

/** Commands a webhook once the change is in the log. */
export function recordCommand<Answer>(
  { env, place }: Pick<Dispatcher, 'env' | 'place'>,
  wanted: Pick<WantedChange, 'kind' | 'target' | 'details'>,
  command: () => Promise<CallOutcome<Answer>>,
): Promise<CallOutcome<Answer>> {
  const { organization, project } = place
  return recordChange(env, { organization, project, ...wanted }, command, endOfCall)
}
