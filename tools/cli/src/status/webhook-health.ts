import { type UnhealthyEndpoint, webhookDispatcherCalls } from '@nextvisit/contracts'
import {
  addressesConfig,
  createCallClient,
  createInternalClient,
  type EnvironmentVariables,
  internalTokenConfig,
} from '@nextvisit/service-kit'
import { readSettings } from '../environment/config.ts'
import { askPart, type PartAnswer } from './ask-part.ts'

/** The status must not hang with the dispatcher, ms. */
const ANSWER_WITHIN_MS = 3_000

/** The webhooks of all projects that need attention. null: the environment does not name the dispatcher. */
export type WebhookHealth = PartAnswer<{ readonly endpoints: readonly UnhealthyEndpoint[] }> | null

/** Asks the dispatcher for the webhooks that are disabled, fail or lag. */
export async function readWebhookHealth(env: EnvironmentVariables): Promise<WebhookHealth> {
  if (!env['WEBHOOK_DISPATCHER_URLS'] || !env['INTERNAL_TOKEN']) return null
  return askPart(async () => {
    const config = addressesConfig('webhook-dispatcher').and(internalTokenConfig)
    const { services, internalToken: token } = readSettings(config, env)
    const addresses = services['webhook-dispatcher']
    const client = createInternalClient({ addresses, token, timeoutMs: ANSWER_WITHIN_MS })
    const read = await createCallClient(webhookDispatcherCalls, client).readUnhealthyEndpoints({})
    if (read.outcome !== 'answered') throw new Error('The webhook dispatcher does not answer. It may be stopped.')
    return { endpoints: read.answer.endpoints }
  })
}

/** Describes a webhook that needs attention in one line: its name, its problem and the remedy. */
export function webhookLine(endpoint: UnhealthyEndpoint): string {
  const { organization, project, endpointId, because, disabledAt, failingSince, pendingSince } = endpoint
  const name = `The webhook ${endpointId} of ${organization}/${project}`
  const remedy = 'Nothing is lost. See docs/runbooks/webhooks.md.'
  if (disabledAt !== undefined) return `${name} is disabled since ${disabledAt}: ${because ?? ''} ${remedy}`
  if (failingSince !== undefined) return `${name} fails since ${failingSince}. ${remedy}`
  return `${name} lags: a delivery is pending since ${pendingSince}. ${remedy}`
}
