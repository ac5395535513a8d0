import type { Call, CallTable } from '@nextvisit/contracts'
import type { Addresses } from './addresses.ts'
import { type CallClient, createCallClient, type Send } from './calls.ts'
import { type BreakerWatch, createBreaker } from './breaker.ts'
import { createInternalClient } from './internal-client.ts'
import { InternalCallError } from './errors.ts'
import { sampledContexts } from './trace-context.ts'
import { contextWithin, type Tracing } from './tracing.ts'

interface ServiceClientOptions extends BreakerWatch {
  readonly addresses: Addresses
  readonly token: string
  /** Maximum duration of an admission call. */
  readonly admissionWithinMs: number
  /** Maximum duration of a read. */
  readonly readWithinMs: number
  /** Called for each call that is sent; a batched call is one. `call`: its name in the table. */
  readonly onCall: (service: string, call: string) => void
  readonly tracing?: Tracing | undefined
}

/** The calls of one service, to any of its processes. Calls of admission and reads have a breaker each. */
export interface ServiceClient<Table extends CallTable> {
  readonly admission: CallClient<Table>
  /** Slow reads never make admission fail fast. */
  readonly reads: CallClient<Table>
  readonly stop: () => void
}

const NOT_CALLED = {
  outcome: 'unavailable',
  cause: new InternalCallError('Earlier calls to the service failed.'),
} as const

/** Creates the client of a service. An open breaker answers `unavailable` at once. */
export function createServiceClient<Table extends CallTable>(
  service: string,
  table: Table,
  { addresses, token, admissionWithinMs, readWithinMs, onCall, tracing, ...watch }: ServiceClientOptions,
): ServiceClient<Table> {
  const names = new Map<Call, string>(Object.entries(table).map(([name, call]) => [call, name]))

  function callsBehind(breakerName: string, timeoutMs: number) {
    const sendNow = createInternalClient({ addresses, token, timeoutMs })
    const sendTraced = tracing ? traceCalls(service, sendNow, tracing) : sendNow
    const breaker = createBreaker(breakerName, watch)
    const send: Send = (call, question, options) =>
      breaker.run(
        () => {
          onCall(service, names.get(call) ?? call.path)
          return sendTraced(call, question, options)
        },
        ({ outcome }) => outcome === 'unavailable',
        NOT_CALLED,
      )
    return { client: createCallClient(table, send), stop: breaker.stop }
  }

  const admission = callsBehind(service, admissionWithinMs)
  const reads = callsBehind(`${service} (reads)`, readWithinMs)
  return {
    admission: admission.client,
    reads: reads.client,
    stop: () => {
      admission.stop()
      reads.stop()
    },
  }
}

/** Records the span of each call that sampled requests wait for. The service's own span is its child. */
function traceCalls(service: string, send: Send, { record }: Tracing): Send {
  return async (call, question, options) => {
    const causes = sampledContexts(options?.traceparents ?? [])
    if (causes.length === 0) return send(call, question, options)
    const context = contextWithin(causes)
    const beganAt = performance.now()
    const outcome = await send(call, question, { ...options, traceparents: [context] })
    record({
      name: `POST ${call.path}`,
      kind: 'client',
      causes,
      context,
      beganAt,
      endedAt: performance.now(),
      attributes: { 'http.request.method': 'POST', 'url.template': call.path, 'service.peer.name': service },
      error: outcome.outcome === 'unavailable' ? 'unavailable' : undefined,
    })
    return outcome
  }
}
