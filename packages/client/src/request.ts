import packageJson from '../package.json' with { type: 'json' }
import { TOO_LARGE } from './batch-limits.ts'
import { isRetryable, parseRetryAfter } from './retry.ts'

/** Timeout of a request in ms, longer than any answer of the gateway takes. */
export const ANSWER_WITHIN_MS = 10_000

interface RequestOptions {
  /** Path, such as `/v2/admin/batch`. */
  readonly path: string
  /** JSON body of a POST, in UTF-8; absent for a GET. */
  readonly body?: Uint8Array<ArrayBuffer>
  readonly withinMs: number
  /** Aborts the request. */
  readonly controller: AbortController
}

/** Outcome of one try of a request. `failed`: the same request may be sent again, no sooner than `retryAfterMs`. */
export type Attempt =
  | { readonly outcome: 'answered'; readonly status: number; readonly body: AnswerBody }
  | { readonly outcome: 'failed'; readonly retryAfterMs: number; readonly cause: Error }

/** Body of an answer: a JSON object. */
export type AnswerBody = Readonly<Record<string, unknown>>

/** Sends a request once. Never rejects. */
export type SendRequest = (options: RequestOptions) => Promise<Attempt>

/** Creates a function that sends requests to `host`, the gateway's URL. */
export function createSendRequest(host: string, key: string): SendRequest {
  const base = host.replace(/\/+$/, '')
  const headers = { 'x-api-key': key, 'user-agent': `nextvisit-client/${packageJson.version}` }
  return async ({ path, body, withinMs, controller }) => {
    const timer = setTimeout(() => controller.abort(new Error('The gateway did not answer in time')), withinMs)
    try {
      const response = await fetch(`${base}${path}`, {
        ...(body === undefined
          ? { headers }
          : { method: 'POST', body, headers: { ...headers, 'content-type': 'application/json' } }),
        // A redirect would turn a POST into a GET.
        redirect: 'error',
        signal: controller.signal,
      })
      return attemptOf(response, await response.text())
    } catch (error) {
      return { outcome: 'failed', retryAfterMs: 0, cause: failureOf(error) }
    } finally {
      clearTimeout(timer)
    }
  }
}

function attemptOf({ status, headers }: Response, text: string): Attempt {
  const body = parseObject(text)
  // A proxy before the gateway may answer with any body. A 413 of a proxy is a refusal, too.
  const isRefusal = status >= 400 && body?.['status'] === status && typeof body['message'] === 'string'
  if (body && (status === 200 || (isRefusal && !isRetryable(status)))) return { outcome: 'answered', status, body }
  if (status === 413) return { outcome: 'answered', status, body: { ...TOO_LARGE } }
  const cause = new Error(
    `HTTP ${status}: ${isRefusal ? String(body['message']) : 'this is not an answer of Nextvisit'}`,
  )
  const retryAfterMs = parseRetryAfter(headers.get('retry-after'), Date.now())
  return { outcome: 'failed', retryAfterMs, cause }
}

function parseObject(text: string): AnswerBody | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as AnswerBody) : undefined
  } catch {
    return undefined
  }
}

/** Describes a failure by its cause, because the messages of `fetch` are generic. */
function failureOf(error: unknown): Error {
  const reason = (error instanceof Error && error.cause) || error
  const { code, message } = reason as { readonly code?: unknown; readonly message?: unknown }
  return new Error(`No answer: ${String(code ?? message)}`, { cause: error })
}
