import type { ErrorAnswer } from '../../../src/session/api.ts'

/** What the console's server refused, in words for the page. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, { error, message }: ErrorAnswer) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = error
  }
}

const UNREACHABLE: ErrorAnswer = {
  error: 'unreachable',
  message: 'The console does not answer. See that its process runs; this page tries again by itself.',
}

/** The console waits at most 3 s for a service. */
const ANSWER_WITHIN_MS = 8_000
/** For what changes something, or reads much of the log. */
export const LONG_ANSWER_WITHIN_MS = 20_000

function late(withinMs: number): ErrorAnswer {
  const message = `The console has not answered for ${withinMs / 1_000} s: it, or a part that it asks, is overloaded or hangs. If the Overview opens, it says which part. If not, look at the process of the console.`
  return { error: 'late', message }
}

interface Call {
  readonly method: string
  readonly path: string
  readonly withinMs: number
  readonly body?: object
}

async function call<Answer>({ method, path, withinMs, body }: Call): Promise<Answer> {
  const signal = AbortSignal.timeout(withinMs)
  const failed = () => new ApiError(0, signal.aborted ? late(withinMs) : UNREACHABLE)
  const response = await fetch(new URL(`api/${path}`, document.baseURI), {
    method,
    // A page of another site cannot set it.
    headers: { 'content-type': 'application/json', 'x-nextvisit-console': '1' },
    ...(body && { body: JSON.stringify(body) }),
    signal,
  }).catch(() => undefined)
  if (!response) throw failed()
  const answer: unknown = await response.json().catch(() => undefined)
  if (answer === undefined) throw failed()
  if (response.ok) return answer as Answer
  throw new ApiError(response.status, answer as ErrorAnswer)
}

export const getFrom = <Answer>(path: string, withinMs = ANSWER_WITHIN_MS): Promise<Answer> =>
  call({ method: 'GET', path, withinMs })
export const postTo = <Answer>(path: string, body: object = {}): Promise<Answer> =>
  call({ method: 'POST', path, withinMs: LONG_ANSWER_WITHIN_MS, body })
export const deleteAt = (path: string): Promise<unknown> =>
  call({ method: 'DELETE', path, withinMs: LONG_ANSWER_WITHIN_MS })
