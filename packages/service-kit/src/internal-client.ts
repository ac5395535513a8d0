import { z, type ZodType } from 'zod'
import { InternalCallError } from './errors.ts'

export interface InternalClientOptions {
  /** Of the service's replicas. One is used until it refuses a connection. */
  readonly baseUrls: readonly string[]
  readonly token: string
  /** The longest that a call may take, over all addresses. */
  readonly timeoutMs: number
}

export interface CallOptions {
  /** The rest of the caller's budget, if less than `timeoutMs`. It is sent to the other service, too. */
  readonly remainingMs?: number
  readonly signal?: AbortSignal
}

export type CallOutcome<Answer> =
  | { readonly outcome: 'answered'; readonly answer: Answer }
  | { readonly outcome: 'not-found' }
  /** Unreachable, too slow, or an invalid answer. The other service may still have done the work. */
  | { readonly outcome: 'unavailable'; readonly cause: Error }

export interface InternalClient {
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
const NOT_CONNECTED = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
])
const Refusal = z.object({ error: z.string(), message: z.string() })

/** Calls another service on its internal port. Never throws because of the other service or the network. */
export function createInternalClient({ baseUrls, token, timeoutMs }: InternalClientOptions): InternalClient {
  let preferred = 0

  async function call<Answer>(
    path: string,
    body: object,
    answerSchema: ZodType<Answer>,
    { remainingMs = timeoutMs, signal }: CallOptions = {},
  ): Promise<CallOutcome<Answer>> {
    const deadline = performance.now() + Math.min(remainingMs, timeoutMs)
    const payload = JSON.stringify(body)
    let cause = new InternalCallError('No address of the service is known.')
    let current = preferred
    for (let tried = 0; tried < baseUrls.length; tried += 1) {
      const leftMs = Math.floor(deadline - performance.now())
      if (leftMs <= 0 || signal?.aborted) return unavailable(new InternalCallError('The budget is used up.', { cause }))
      try {
        return await send(new URL(path, baseUrls[current]), { payload, leftMs, signal, answerSchema })
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

  async function send<Answer>(url: URL, { payload, leftMs, signal, answerSchema }: Attempt<Answer>) {
    const timeout = AbortSignal.timeout(leftMs)
    const response = await fetch(url, {
      method: 'POST',
      body: payload,
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        'x-deadline-ms': String(leftMs),
      },
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    })
    const answer = await readJson(response)
    return response.ok ? readAnswer(answer, answerSchema) : readRefusal(response.status, answer)
  }

  return { call }
}

/** Throws, and ends the connection, where the answer is too large. */
async function readJson({ body }: Response): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
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

function readRefusal(status: number, answer: unknown): CallOutcome<never> {
  const refusal = Refusal.safeParse(answer)
  // A wrong address answers 404, too, but not with this code.
  if (status === 404 && refusal.data?.error === 'NOT_FOUND') return { outcome: 'not-found' }
  return unavailable(
    new InternalCallError(`The service answered ${status}: ${refusal.data?.message ?? 'no reason given'}`),
  )
}

function unavailable(cause: Error): CallOutcome<never> {
  return { outcome: 'unavailable', cause }
}

/** `fetch` throws a TypeError whose cause is the connection's error. */
function isNotConnected(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && NOT_CONNECTED.has(String(cause.code))
}
