import type { ZodType } from 'zod'

/** `signal` is aborted when the caller's deadline passes or the caller disconnects: nobody reads the answer then. */
export interface CallContext {
  readonly signal: AbortSignal
  /** When the caller's deadline passes, as `performance.now()` says. */
  readonly deadlineAt: number
}

const NOT_FOUND = Symbol('not found')
export type NotFound = typeof NOT_FOUND

/** What a handler returns where the requested thing does not exist: 404 for the caller. */
export function notFound(): NotFound {
  return NOT_FOUND
}

export function isNotFound(answer: unknown): answer is NotFound {
  return answer === NOT_FOUND
}

const BEHIND = Symbol('behind')
export type Behind = typeof BEHIND

/**
 * What a handler returns where the rows that it would read from are behind the log: 503 for the caller. The service works,
 * so it is no failure for a breaker: other partitions' rows may be up to date.
 */
export function behind(): Behind {
  return BEHIND
}

export function isBehind(answer: unknown): answer is Behind {
  return answer === BEHIND
}

/** A call that other services may make: see {@link internalRoute}. */
export interface InternalRoute {
  readonly path: string
  readonly schema: ZodType
  readonly handle: (body: unknown, context: CallContext) => Promise<object | NotFound | Behind>
}

/**
 * `POST path` on the internal port. A body that does not fit `schema` is answered with 400 and never reaches `handle`. A
 * throw is answered with 503 where the error is `retryable` or the signal was aborted, else with 500.
 */
export function internalRoute<Body>(
  path: string,
  schema: ZodType<Body>,
  handle: (body: Body, context: CallContext) => Promise<object | NotFound | Behind>,
): InternalRoute {
  return { path, schema, handle: (body, context) => handle(body as Body, context) }
}
