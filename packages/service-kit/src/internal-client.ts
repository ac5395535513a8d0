import { once } from 'node:events'
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { z, type ZodType } from 'zod'
import type { CallOutcome, Send } from './calls.ts'
import { InternalCallError } from './errors.ts'

interface InternalClientOptions {
  /** Addresses of the service's processes. The client uses the same address until a call to it fails. */
  readonly baseUrls: readonly string[]
  readonly token: string
  /** Maximum duration of a call, over all addresses. */
  readonly timeoutMs: number
}

/** Fits the largest read model. No service can fill the memory of its callers. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/** Errors before anything was sent, after which another address may be tried. */
const NOT_CONNECTED = new Set(['EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND'])
const RefusalBody = z.object({ error: z.string(), message: z.string() })

/**
 * Creates the function that carries calls to a service's internal port. Opens connections when they are needed and keeps
 * them alive. Uses `node:http`, because `fetch` takes several times the CPU for a call.
 */
export function createInternalClient({ baseUrls, token, timeoutMs }: InternalClientOptions): Send {
  const [httpAgent, httpsAgent] = [new HttpAgent({ keepAlive: true }), new HttpsAgent({ keepAlive: true })]
  let preferred = 0

  async function attempt(url: URL, payload: string, leftMs: number, signal?: AbortSignal): Promise<Response> {
    const options = {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        'x-deadline-ms': String(leftMs),
      },
      ...(signal && { signal }),
    }
    const request =
      url.protocol === 'https:'
        ? requestHttps(url, { ...options, agent: httpsAgent })
        : requestHttp(url, { ...options, agent: httpAgent })
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

  return async ({ path, answer }, question, { deadlineAt = Infinity, signal } = {}) => {
    const deadline = Math.min(deadlineAt, performance.now() + timeoutMs)
    const payload = JSON.stringify(question)
    let cause = new InternalCallError('No address of the service is known.')
    let current = preferred
    for (let tried = 0; tried < baseUrls.length; tried += 1) {
      const leftMs = Math.floor(deadline - performance.now())
      if (leftMs <= 0 || signal?.aborted) return unavailable('The budget is used up.', cause)
      try {
        return outcomeOf(await attempt(new URL(path, baseUrls[current]), payload, leftMs, signal), answer)
      } catch (error) {
        cause = new InternalCallError('The service cannot be reached.', { cause: error })
        const next = (current + 1) % baseUrls.length
        // Later calls begin with the next address. Of concurrent failures only the first moves it.
        if (preferred === current) preferred = next
        if (!isNotConnected(error)) break
        current = next
      }
    }
    return { outcome: 'unavailable', cause }
  }
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

function isNotConnected(error: unknown): boolean {
  return error instanceof Error && 'code' in error && NOT_CONNECTED.has(String(error.code))
}
