import packageJson from '../package.json' with { type: 'json' }
import { TOO_LARGE } from './batch-limits.ts'
import { isRetryable, parseRetryAfter } from './retry.ts'

/** Longer than any answer of the gateway takes. */
export const ANSWER_WITHIN_MS = 10_000

export interface RequestOptions {
  /** After the host, such as `/v2/admin/batch`. */
  readonly path: string
  /** JSON, sent by POST. Without it: GET. */
  readonly body?: string
  readonly withinMs: number
  /** Ends the request. */
  readonly controller: AbortController
}

/** One try of a request. `failed`: the same request may be sent again, no sooner than `retryAfterMs`. */
export type Attempt =
  | { readonly outcome: 'answered'; readonly status: number; readonly body: AnswerBody }
  | FailedAttempt

export interface FailedAttempt {
  readonly outcome: 'failed'
  readonly retryAfterMs: number
  readonly cause: Error
}

/** A JSON object. */
export type AnswerBody = Readonly<Record<string, unknown>>

/** Sends a request once. Never rejects. */
export type SendRequest = (options: RequestOptions) => Promise<Attempt>

/** `host` is the gateway's URL, such as `https://nextvisit.example.com`. */
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
        // A redirected POST would become a GET.
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
  // A proxy before the gateway answers with anything. If it says 413, that is enough.
  const isRefusal = status >= 400 && body?.['status'] === status && typeof body['message'] === 'string'
  if (body && (status === 200 || (isRefusal && !isRetryable(status)))) return { outcome: 'answered', status, body }
  if (status === 413) return { outcome: 'answered', status, body: { ...TOO_LARGE } }
  const cause = new Error(`HTTP ${status}: ${isRefusal ? String(body['message']) : 'this is no answer of Nextvisit'}`)
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

/** Says why: what `fetch` throws says it only in its cause. */
function failureOf(error: unknown): Error {
  const reason = (error instanceof Error && error.cause) || error
  const { code, message } = reason as { readonly code?: unknown; readonly message?: unknown }
  return new Error(`No answer: ${String(code ?? message)}`, { cause: error })
}
