import { INTERNAL_ROUTES } from '@nextvisit/contracts'
import { z, type ZodType } from 'zod'
import { type BatchedCall, type BatchedCallOptions, createBatchedCall } from './create-batched-call.ts'
import { type BreakerWatch, createBreaker } from './create-breaker.ts'
import type { CallOutcome } from './calls.ts'
import { InternalCallError } from './errors.ts'
import { createInternalClient } from './internal-client.ts'

interface ServiceClientOptions extends BreakerWatch {
  readonly token: string
  /** How long a read may take. */
  readonly readWithinMs: number
  /** How long a call with questions of admission may take. */
  readonly askWithinMs: number
  /** Called when a call goes out: many questions in one where they are batched. */
  readonly onCall: (service: string, call: string) => void
}

/** Calls one route of a service. Never rejects; `deadlineAt` is a `performance.now()` instant. */
type ServiceCall = <Answer>(
  route: keyof typeof INTERNAL_ROUTES,
  question: object,
  schema: ZodType<Answer>,
  deadlineAt: number,
) => Promise<CallOutcome<Answer>>

/** One route that takes many questions in a call, and answers them together. */
interface BatchedRoute<Question, Answer, Body>
  extends Omit<BatchedCallOptions<Question, Answer>, 'ask' | 'callWithinMs'> {
  readonly route: keyof typeof INTERNAL_ROUTES
  readonly bodyOf: (questions: readonly Question[]) => object
  readonly schema: ZodType<Body>
  /** The answers, in the order of the questions. */
  readonly answersOf: (body: Body, questions: readonly Question[]) => readonly Answer[]
}

/** Of a {@link BatchedRoute} that is only told something: that it answers is all that it says. */
export const TELLS = {
  schema: z.unknown(),
  answersOf: (_body: unknown, told: readonly unknown[]) => told.map(() => true as const),
}

export interface ServiceClient {
  /** For admission: a question goes out as part of a call. */
  readonly batched: <Question, Answer, Body>(
    route: BatchedRoute<Question, Answer, Body>,
  ) => BatchedCall<Question, Answer>
  /** For reads. Slow ones never make admission fail fast. */
  readonly read: ServiceCall
  readonly stop: () => void
}

const NOT_CALLED: CallOutcome<never> = {
  outcome: 'unavailable',
  cause: new InternalCallError('Earlier calls to the service failed.'),
}

/** Calls one service, on any of its replicas; admission and reads behind a breaker each. */
export function createServiceClient(
  service: string,
  baseUrls: readonly string[],
  { token, readWithinMs, askWithinMs, onCall, ...watch }: ServiceClientOptions,
): ServiceClient {
  function callsBehind(breakerName: string, timeoutMs: number) {
    const client = createInternalClient({ baseUrls, token, timeoutMs })
    const breaker = createBreaker(breakerName, watch)
    const call: ServiceCall = (route, question, schema, deadlineAt) =>
      breaker.run<CallOutcome<ReturnType<typeof schema.parse>>>(
        () => {
          onCall(service, route)
          return client.call(INTERNAL_ROUTES[route], question, schema, { deadlineAt })
        },
        ({ outcome }) => outcome === 'unavailable',
        NOT_CALLED,
      )
    return { call, stop: breaker.stop }
  }

  const admission = callsBehind(service, askWithinMs)
  const reads = callsBehind(`${service} (reads)`, readWithinMs)
  return {
    batched: ({ route, bodyOf, schema, answersOf, ...limits }) =>
      createBatchedCall({
        ...limits,
        callWithinMs: askWithinMs,
        ask: async (questions, deadlineAt) => {
          const called = await admission.call(route, bodyOf(questions), schema, deadlineAt)
          return called.outcome === 'answered' ? answersOf(called.answer, questions) : []
        },
      }),
    read: reads.call,
    stop: () => [admission, reads].forEach(({ stop }) => stop()),
  }
}
