import { once } from 'node:events'
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { z, type ZodType } from 'zod'
import type { CallOptions, CallOutcome, Send } from './calls.ts'
import { InternalCallError } from './errors.ts'

export interface InternalClientOptions {
  /** Of the service's replicas. One is used until it refuses a connection. */
  readonly baseUrls: readonly string[]
  readonly token: string
  /** The longest that a call may take, over all addresses. */
  readonly timeoutMs: number
}

export interface InternalClient {
  readonly send: Send
  readonly call: <Answer>(
    path: string,
    body: object,
    answerSchema: ZodType<Answer>,
    options?: CallOptions,
  ) => Promise<CallOutcome<Answer>>
}

/** A read model of the fattest user fits; no service can fill the memory of its caller. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/** Nothing was sent on this connection, so another address may be tried. */
const NOT_CONNECTED = new Set(['EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND'])
const Refusal = z.object({ error: z.string(), message: z.string() })

/**
 * Calls another service on its internal port. Never throws because of the other service or the network. Over `node:http`:
 * `fetch` takes several times the CPU for a call.
 */
export function createInternalClient({ baseUrls, token, timeoutMs }: InternalClientOptions): InternalClient {
  const [httpAgent, httpsAgent] = [new HttpAgent({ keepAlive: true }), new HttpsAgent({ keepAlive: true })]
  let preferred = 0

  async function call<Answer>(
    path: string,
    body: object,
    answerSchema: ZodType<Answer>,
    { deadlineAt = Infinity, signal }: CallOptions = {},
  ): Promise<CallOutcome<Answer>> {
    const deadline = Math.min(deadlineAt, performance.now() + timeoutMs)
    const payload = JSON.stringify(body)
    let cause = new InternalCallError('No address of the service is known.')
    let current = preferred
    for (let tried = 0; tried < baseUrls.length; tried += 1) {
      const leftMs = Math.floor(deadline - performance.now())
      if (leftMs <= 0 || signal?.aborted) return unavailable(new InternalCallError('The budget is used up.', { cause }))
      try {
        return await attempt(new URL(path, baseUrls[current]), { payload, leftMs, signal, answerSchema })
      } catch (error) {
        cause = new InternalCallError('The service can not be reached.', { cause: error })
        const next = (current + 1) % baseUrls.length
        // After any failure later calls begin with another address. Of concurrent failures only the first moves it.
        if (preferred === current) preferred = next
        if (!isNotConnected(error)) return unavailable(cause)
        current = next
      }
    }
    return unavailable(cause)
  }

  async function attempt<Answer>(url: URL, { payload, leftMs, signal, answerSchema }: Attempt<Answer>) {
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
    // One that comes after the response is the response's, too.
    request.on('error', () => undefined)
    const timer = setTimeout(() => request.destroy(new InternalCallError('No answer came in time.')), leftMs)
    try {
      request.end(payload)
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      const answer = await readJson(response)
      return response.statusCode === 200 ? readAnswer(answer, answerSchema) : readRefusal(response.statusCode, answer)
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    call,
    send: ({ path, answer }, question, options) =>
      call(path, question as object, answer as ZodType<z.output<typeof answer>>, options),
  }
}

/** Throws, and ends the connection, where the answer is too large. */
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

interface Attempt<Answer> {
  readonly payload: string
  readonly leftMs: number
  readonly signal: AbortSignal | undefined
  readonly answerSchema: ZodType<Answer>
}

function readAnswer<Answer>(answer: unknown, schema: ZodType<Answer>): CallOutcome<Answer> {
  const result = schema.safeParse(answer)
  if (result.success) return { outcome: 'answered', answer: result.data }
  return unavailable(new InternalCallError("The service's answer does not fit its schema.", { cause: result.error }))
}

function readRefusal(status: number | undefined, answer: unknown): CallOutcome<never> {
  const refusal = Refusal.safeParse(answer)
  // A wrong address answers 404, too, but not with this code.
  if (status === 404 && refusal.data?.error === 'NOT_FOUND') return { outcome: 'not-found' }
  if (status === 503 && refusal.data?.error === 'BEHIND') return { outcome: 'behind' }
  return unavailable(
    new InternalCallError(`The service answered ${status}: ${refusal.data?.message ?? 'no reason given'}`),
  )
}

function unavailable(cause: Error): CallOutcome<never> {
  return { outcome: 'unavailable', cause }
}

function isNotConnected(error: unknown): boolean {
  return error instanceof Error && 'code' in error && NOT_CONNECTED.has(String(error.code))
}
