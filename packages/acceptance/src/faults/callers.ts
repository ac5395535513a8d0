import { performance } from 'node:perf_hooks'
import type { LedgerEntry } from '@nextvisit/audit'
import type { Customer } from './customers.ts'

/** One request with its answer, as its caller wrote them down. Times in ms of this process' clock. */
export interface Call extends LedgerEntry {
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

/** Longer than any answer may take, so that what takes longer is seen. */
const GIVE_UP_AFTER_MS = 15_000

export function createCallers(gatewayUrl: string): Callers {
  const calls: Call[] = []
  return {
    calls: () => calls,
    send: async (customer, request) => {
      const sentAt = performance.now()
      const answer = await post(gatewayUrl, customer, request)
      const { organization, project } = customer
      const { userName, eventName } = request.body
      const call: Call = {
        organization,
        project,
        userName,
        keyed: request.idempotencyKey !== undefined,
        ...(typeof eventName === 'string' && { eventName }),
        ...answer,
        sentAt,
        elapsedMs: performance.now() - sentAt,
      }
      calls.push(call)
      return call
    },
  }
}

type Answer = Pick<Call, 'status' | 'requestId' | 'newEvent' | 'formsQueued'>

async function post(gatewayUrl: string, customer: Customer, { route, body, idempotencyKey }: Request): Promise<Answer> {
  try {
    const response = await fetch(`${gatewayUrl}${route}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': route.startsWith('/v2/sdk/') ? customer.sdkKey : customer.adminKey,
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(GIVE_UP_AFTER_MS),
    })
    const { newEvent, formsQueued } = (await response.json()) as { newEvent?: boolean; formsQueued?: number }
    return {
      status: response.status,
      requestId: response.headers.get('x-request-id') ?? undefined,
      ...(newEvent !== undefined && { newEvent }),
      ...(formsQueued !== undefined && { formsQueued }),
    }
  } catch {
    return { status: undefined, requestId: undefined }
  }
}
