import type { ZodType } from 'zod'
import type { CallContext, Behind, InternalRoute, NotFound } from './calls.ts'

/**
 * `POST path` on the internal port. A body that does not fit `schema` is answered with 400 and never reaches `handle`. A
 * throw is answered with 503 where the error is `retryable` or the signal was aborted, else with 500.
 */
export function internalRoute<Body>(
  path: string,
  schema: ZodType<Body>,
  handle: (body: Body, context: CallContext) => Promise<object | NotFound | Behind>,
): InternalRoute {
  return { path, question: schema, handle: (body, context) => handle(body as Body, context) }
}
