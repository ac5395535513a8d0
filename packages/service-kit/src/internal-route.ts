import type { ZodType } from 'zod'

/** Aborted when the caller's deadline passes or the caller goes away: then nobody reads the answer. */
export interface CallContext {
  readonly signal: AbortSignal
}

const NOT_FOUND = Symbol('not found')
export type NotFound = typeof NOT_FOUND

/** What a handler returns where the thing asked for does not exist: 404 for the caller. */
export function notFound(): NotFound {
  return NOT_FOUND
}

export function isNotFound(answer: unknown): answer is NotFound {
  return answer === NOT_FOUND
}

/** A question that other services may ask: see {@link internalRoute}. */
export interface InternalRoute {
  readonly path: string
  readonly schema: ZodType
  readonly handle: (body: unknown, context: CallContext) => Promise<object | NotFound>
}

/**
 * `POST path` on the internal port. What does not fit `schema` is answered with 400 and never reaches `handle`. A throw is
 * answered with 503 where the error says `retryable` or the signal was aborted, with 500 otherwise.
 */
export function internalRoute<Body>(
  path: string,
  schema: ZodType<Body>,
  handle: (body: Body, context: CallContext) => Promise<object | NotFound>,
): InternalRoute {
  return { path, schema, handle: (body, context) => handle(body as Body, context) }
}
