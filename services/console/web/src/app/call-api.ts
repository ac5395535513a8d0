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

async function call<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(new URL(`api/${path}`, document.baseURI), {
    method,
    // A page of another site cannot set it.
    headers: { 'content-type': 'application/json', 'x-nextvisit-console': '1' },
    ...(body && { body: JSON.stringify(body) }),
  }).catch(() => undefined)
  if (!response) throw new ApiError(0, UNREACHABLE)
  const answer: unknown = await response.json().catch(() => UNREACHABLE)
  if (response.ok) return answer as Answer
  throw new ApiError(response.status, answer as ErrorAnswer)
}

export const getFrom = <Answer>(path: string): Promise<Answer> => call('GET', path)
export const postTo = <Answer>(path: string, body: object = {}): Promise<Answer> => call('POST', path, body)
export const deleteAt = (path: string): Promise<unknown> => call('DELETE', path)
