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

export type ServiceClient = ReturnType<typeof createServiceClient>

const NOT_CALLED: CallOutcome<never> = {
  outcome: 'unavailable',
  cause: new InternalCallError('Earlier calls to the service failed.'),
}

/** Calls one service, on any of its replicas, behind a breaker of its own. */
export function createServiceClient(
  service: string,
  baseUrls: readonly string[],
  { token, onCall, ...watch }: ServiceClientOptions,
) {
  const client = createInternalClient({ baseUrls, token, timeoutMs: REQUEST_BUDGET_MS })
  const breaker = createBreaker(service, watch)
  return {
    /** Never rejects. `deadlineAt` is a `performance.now()` instant. */
    call: <Answer>(
      route: keyof typeof INTERNAL_ROUTES,
      question: object,
      schema: ZodType<Answer>,
      deadlineAt: number,
    ): Promise<CallOutcome<Answer>> =>
      breaker.run<CallOutcome<Answer>>(
        () => {
          onCall(service, route)
          return client.call(INTERNAL_ROUTES[route], question, schema, { remainingMs: remainingMs(deadlineAt) })
        },
        ({ outcome }) => outcome === 'unavailable',
        NOT_CALLED,
      ),
    stop: breaker.stop,
  }
}
