import type { LedgerEntry } from '@nextvisit/audit'
import { callGateway, type GatewayAnswer } from '@nextvisit/testing/black-box'
import type { Customer } from './customers.ts'

/** One request with its answer, as its caller wrote them down. Times in ms of this process' clock. */
export interface Call extends LedgerEntry {
  readonly route: Request['route']
  readonly sentAt: number
  readonly elapsedMs: number
}

export interface Request {
  readonly route: '/v2/admin/identify-user' | '/v2/admin/track-event' | '/v2/sdk/identify-user' | '/v2/sdk/track-event'
  readonly body: Readonly<Record<string, unknown>> & { readonly userName: string }
  readonly idempotencyKey?: string
}

/** Sends requests as customers' back ends and pages would, and writes down every one of them. */
export interface Callers {
  readonly send: (customer: Customer, request: Request) => Promise<Call>
  readonly calls: () => readonly Call[]
}

export function createCallers(gatewayUrl: string): Callers {
  const calls: Call[] = []
  return {
    calls: () => calls,
    send: async (customer, { route, body, idempotencyKey }) => {
      const apiKey = route.startsWith('/v2/sdk/') ? customer.sdkKey : customer.adminKey
      const keyed = idempotencyKey !== undefined
      const sent = await callGateway({ gatewayUrl, route, apiKey, body, ...(keyed && { idempotencyKey }) })
      const { organization, project } = customer
      const { userName, eventName } = body
      const { answer, ...known } = sent
      const call: Call = {
        route,
        organization,
        project,
        userName,
        keyed,
        ...(typeof eventName === 'string' && { eventName }),
        ...told(answer),
        ...known,
      }
      calls.push(call)
      return call
    },
  }
}

/** What was told of an event. Where its triggers are evaluated later, nobody was told how many forms it queues. */
function told({
  newEvent,
  triggersEvaluated,
  formsQueued,
}: GatewayAnswer['answer']): Pick<Call, 'newEvent' | 'formsQueued'> {
  return {
    ...(typeof newEvent === 'boolean' && { newEvent }),
    ...(triggersEvaluated === true && typeof formsQueued === 'number' && { formsQueued }),
  }
}
