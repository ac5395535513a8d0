import type { ErrorAnswer } from '../../../src/api/session.ts'

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

/** The console's own calls of other processes end sooner. What changes something may take longer. */
const ANSWER_WITHIN_MS = { get: 8_000, change: 20_000 }

function late(withinMs: number): ErrorAnswer {
  const message = `The console has not answered for ${withinMs / 1_000} s: it is overloaded, or hangs. If it hangs, end its process, so that it is started again.`
  return { error: 'late', message }
}

async function call<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const withinMs = method === 'GET' ? ANSWER_WITHIN_MS.get : ANSWER_WITHIN_MS.change
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

export const getFrom = <Answer>(path: string): Promise<Answer> => call('GET', path)
export const postTo = <Answer>(path: string, body: object = {}): Promise<Answer> => call('POST', path, body)
export const deleteAt = (path: string): Promise<unknown> => call('DELETE', path)
