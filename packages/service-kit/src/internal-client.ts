import { once } from 'node:events'
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { z, type ZodType } from 'zod'
import type { Addresses } from './addresses.ts'
import type { CallOptions, CallOutcome, Send } from './calls.ts'
import { InternalCallError } from './errors.ts'
import { isSampled } from './trace-context.ts'

interface InternalClientOptions {
  /** The client uses the same address until a call to it fails, or until it vanishes. */
  readonly addresses: Addresses
  readonly token: string
  /** Maximum duration of a call, over all addresses. */
  readonly timeoutMs: number
}

/**
 * Clients keep an idle connection for this time. A server that stops waits for longer (`DRAIN_WITHIN_MS`),
 * so it closes none under a call. And no connection to a vanished address stays open.
 */
export const KEEP_IDLE_MS = 500
/** A call that reaches no known process waits so long for other addresses. */
const LOOK_UP_WITHIN_MS = 250

/** Fits the largest read model. No service can fill the memory of its callers. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/** Errors before anything was sent, after which another address may be tried. */
const NOT_CONNECTED = new Set(['EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND'])
const RefusalBody = z.object({ error: z.string(), message: z.string() })

/**
 * Creates the function that carries calls to a service's internal port. Opens connections when they are needed and keeps
 * them alive. Uses `node:http`, because `fetch` takes several times the CPU for a call.
 */
export function createInternalClient({ addresses, token, timeoutMs }: InternalClientOptions): Send {
  const kept = { keepAlive: true, timeout: KEEP_IDLE_MS }
  const [httpAgent, httpsAgent] = [new HttpAgent(kept), new HttpsAgent(kept)]
  let preferred = ''

  async function attempt(url: URL, payload: string, leftMs: number, options: CallOptions): Promise<Response> {
    const { signal, traceparents: [traceparent] = [] } = options
    const sent = {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        'x-deadline-ms': String(leftMs),
        ...(isSampled(traceparent) && { traceparent }),
      },
      ...(signal && { signal }),
    }
    const request =
      url.protocol === 'https:'
        ? requestHttps(url, { ...sent, agent: httpsAgent })
        : requestHttp(url, { ...sent, agent: httpAgent })
    // An error after the response is also raised on the response.
    request.on('error', () => undefined)
    const giveUp = () => void request.destroy(new InternalCallError('No answer came in time.'))
    let givingUp: NodeJS.Immediate | undefined
    // After a stall of this process, an answer that has arrived is read first.
    const timer = setTimeout(() => (givingUp = setImmediate(giveUp)), leftMs)
    try {
      request.end(payload)
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      return { status: response.statusCode, body: await readJson(response) }
    } finally {
      clearTimeout(timer)
      clearImmediate(givingUp)
    }
  }

  return async ({ path, answer }, question, options = {}) => {
    const { deadlineAt = Infinity, signal } = options
    const deadline = Math.min(deadlineAt, performance.now() + timeoutMs)
    const payload = JSON.stringify(question)
    const tried = new Set<string>()
    let cause = new InternalCallError('No address of the service is known.')
    let hasLookedUp = false
    await addresses.untilKnown(deadline - performance.now(), signal)
    for (;;) {
      const leftMs = Math.floor(deadline - performance.now())
      if (leftMs <= 0 || signal?.aborted) return unavailable('The budget is used up.', cause)
      const urls = addresses.current()
      if (!urls.includes(preferred)) preferred = urls[0] ?? ''
      const url = firstUntried(urls, preferred, tried)
      if (url === undefined) {
        if (hasLookedUp) return { outcome: 'unavailable', cause }
        hasLookedUp = true
        await addresses.lookUp(Math.min(leftMs, LOOK_UP_WITHIN_MS))
        continue
      }
      tried.add(url)
      const outcome = await attempt(new URL(path, url), payload, leftMs, options).catch(unreachable)
      const isFailed = outcome instanceof InternalCallError
      if (!isFailed && !isNotReady(outcome)) return outcomeOf(outcome, answer)
      // Later calls begin with the next address. Of concurrent failures only the first moves it.
      if (preferred === url) preferred = urls[(urls.indexOf(url) + 1) % urls.length] ?? url
      cause = isFailed ? outcome : new InternalCallError('The service is not ready.')
      if (isFailed && !isNotConnected(outcome.cause)) return { outcome: 'unavailable', cause }
    }
  }
}

/** Returns the first address, from the preferred one on, that was not tried. */
function firstUntried(urls: readonly string[], preferred: string, tried: ReadonlySet<string>): string | undefined {
  const first = urls.indexOf(preferred)
  return [...urls.slice(first), ...urls.slice(0, first)].find((url) => !tried.has(url))
}

function unreachable(cause: unknown): InternalCallError {
  return new InternalCallError('The service cannot be reached.', { cause })
}

interface Response {
  readonly status: number | undefined
  /** Parsed JSON. */
  readonly body: unknown
}

/** Throws, which ends the connection, if the answer is too large. */
async function readJson(response: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength
    if (bytes > MAX_ANSWER_BYTES) throw new InternalCallError(`The answer has more than ${MAX_ANSWER_BYTES} bytes.`)
    chunks.push(chunk)
  }
  return JSON.parse(Buffer.concat(chunks).toString())
}

function outcomeOf<Answer extends ZodType>({ status, body }: Response, schema: Answer): CallOutcome<z.output<Answer>> {
  if (status === 200) {
    const { success, data, error } = schema.safeParse(body)
    return success ? { outcome: 'answered', answer: data } : unavailable('The answer does not fit its schema.', error)
  }
  const refusal = RefusalBody.safeParse(body).data
  // A wrong address also answers 404, but without this code.
  if (status === 404 && refusal?.error === 'NOT_FOUND') return { outcome: 'not-found' }
  if (status === 503 && refusal?.error === 'BEHIND') return { outcome: 'behind' }
  return unavailable(`The service answered ${status}: ${refusal?.message ?? 'no reason given'}`)
}

function unavailable(message: string, cause?: Error): CallOutcome<never> {
  return { outcome: 'unavailable', cause: new InternalCallError(message, { cause }) }
}

/** Returns true for a process that starts or stops: it has not begun the call. */
function isNotReady({ status, body }: Response): boolean {
  return status === 503 && RefusalBody.safeParse(body).data?.error === 'NOT_READY'
}

function isNotConnected(error: unknown): boolean {
  return error instanceof Error && 'code' in error && NOT_CONNECTED.has(String(error.code))
}
