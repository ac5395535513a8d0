import type { z } from 'zod'
import { API_ROUTES, type ApiName } from '../api-routes.ts'
import type { Session } from './sessions.ts'
import type { RouteDefinition } from './define-route.ts'

/** Refusal of a request, with its HTTP status. */
export interface ApiRefusal {
  readonly outcome: 'refused'
  readonly status: number
  readonly error: string
  readonly message: string
}

export function refuse(status: number, error: string, message: string): ApiRefusal {
  return { outcome: 'refused', status, error, message }
}

/** Refuses because Kafka is unavailable. `subject`: such as `The log`. */
export function refuseWithoutLog(subject: string): ApiRefusal {
  return refuse(503, 'no-log', `${subject} cannot be read because Kafka does not answer. The Overview says more.`)
}

export type ApiResult<Answer> = { readonly outcome: 'answered'; readonly answer: Answer } | ApiRefusal

export function answered<Answer>(answer: Answer): ApiResult<Answer> {
  return { outcome: 'answered', answer }
}

/** A route that the server can answer. */
export interface ApiRoute extends RouteDefinition {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below `api/`, with `:name` for a part that varies. */
  readonly path: string
  readonly handle: ApiHandler<unknown, unknown>
}

/** Answers one route. `signal`: aborted when the request closes. The server then discards the answer. */
export type ApiHandler<Input, Answer> = (
  input: Input,
  session: Session,
  signal: AbortSignal,
) => Promise<ApiResult<Answer>> | ApiResult<Answer>

/** Returns the routes of a screen by name. A route without a handler, or with an answer of another shape, does not compile. */
export function serveApi<Table extends { readonly [Name in ApiName]?: RouteDefinition }>(
  table: Table,
  handlers: {
    readonly [Name in keyof Table]: Table[Name] extends RouteDefinition<infer Input, infer Answer>
      ? ApiHandler<z.output<Input>, z.input<Answer>>
      : never
  },
): { readonly [Name in keyof Table]: ApiRoute } {
  const routes = Object.entries(table).map(([name, definition]) => {
    const handle = handlers[name as keyof Table] as unknown as ApiRoute['handle']
    return [name, { ...API_ROUTES[name as ApiName], ...definition, handle }]
  })
  return Object.fromEntries(routes) as { readonly [Name in keyof Table]: ApiRoute }
}
