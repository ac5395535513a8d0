import { INTERNAL_ROUTES } from '@nextvisit/contracts'
import { type CallOutcome, createInternalClient, InternalCallError } from '@nextvisit/service-kit'
import type { ZodType } from 'zod'
import { REQUEST_BUDGET_MS, remainingMs } from '../http/budget.ts'
import { type BreakerWatch, createBreaker } from './breaker.ts'

export interface ServiceClientOptions extends BreakerWatch {
  readonly token: string
  /** Called when a call goes out: many questions in one where they are batched. */
  readonly onCall: (service: string, call: string) => void
}

/** Calls one route of a service. Never rejects; `deadlineAt` is a `performance.now()` instant. */
export type ServiceCall = <Answer>(
  route: keyof typeof INTERNAL_ROUTES,
  question: object,
  schema: ZodType<Answer>,
  deadlineAt: number,
) => Promise<CallOutcome<Answer>>

export interface ServiceClient {
  /** For admission. */
  readonly ask: ServiceCall
  /** For reads. Slow ones never make admission fail fast. */
  readonly read: ServiceCall
  readonly stop: () => void
}

/** For what is given back after an answer, when no budget is left. The service drops by itself what gets lost. */
export const RELEASE_WITHIN_MS = 5_000

const NOT_CALLED: CallOutcome<never> = {
  outcome: 'unavailable',
  cause: new InternalCallError('Earlier calls to the service failed.'),
}

/** Calls one service, on any of its replicas; admission and reads behind a breaker each. */
export function createServiceClient(
  service: string,
  baseUrls: readonly string[],
  { token, onCall, ...watch }: ServiceClientOptions,
): ServiceClient {
  function callsBehind(breakerName: string) {
    const client = createInternalClient({ baseUrls, token, timeoutMs: REQUEST_BUDGET_MS })
    const breaker = createBreaker(breakerName, watch)
    const call: ServiceCall = (route, question, schema, deadlineAt) =>
      breaker.run<CallOutcome<ReturnType<typeof schema.parse>>>(
        () => {
          onCall(service, route)
          return client.call(INTERNAL_ROUTES[route], question, schema, { remainingMs: remainingMs(deadlineAt) })
        },
        ({ outcome }) => outcome === 'unavailable',
        NOT_CALLED,
      )
    return { call, stop: breaker.stop }
  }

  const admission = callsBehind(service)
  const reads = callsBehind(`${service} (reads)`)
  return {
    ask: admission.call,
    read: reads.call,
    stop: () => [admission, reads].forEach(({ stop }) => stop()),
  }
}
