import type { ZodType } from 'zod'
import type { Role } from '../session/api.ts'
import type { Session } from '../session/sessions.ts'

/** Why a request was not answered as asked. */
export interface ApiRefusal {
  readonly outcome: 'refused'
  readonly status: number
  readonly error: string
  readonly message: string
}

export function refuse(status: number, error: string, message: string): ApiRefusal {
  return { outcome: 'refused', status, error, message }
}

export type ApiResult<Answer> = { readonly outcome: 'answered'; readonly answer: Answer } | ApiRefusal

export function answered<Answer>(answer: Answer): ApiResult<Answer> {
  return { outcome: 'answered', answer }
}

/** A route of the JSON API, for somebody who is signed in. */
export interface ApiRoute {
  /** `POST` changes something, or carries what must not stand in an address. It needs a request that no other site can make. */
  readonly method: 'GET' | 'POST'
  /** Below `api/`, with `:name` for a part that varies. */
  readonly path: string
  /** Who may call it; an operator may do everything. */
  readonly role: Role
  /** Path, query and body together. */
  readonly input: ZodType
  /** Of a `POST`: the size of its body, where it may be larger than others, such as `1mb`. */
  readonly maxBody?: string
  readonly answer: ZodType
  /** Of a `POST`: what goes into the log beside who it was. Never a userName. */
  readonly logged: (input: unknown) => Readonly<Record<string, string>>
  readonly handle: (input: unknown, session: Session) => Promise<ApiResult<unknown>>
}

/** Describes a route: `handle` gets what fits `input`, and its answer fits `answer`. */
export function apiRoute<Input, Answer>(route: {
  readonly method: ApiRoute['method']
  readonly path: string
  readonly role: Role
  readonly input: ZodType<Input>
  readonly maxBody?: string
  readonly answer: ZodType<Answer>
  readonly logged?: (input: Input) => Readonly<Record<string, string>>
  readonly handle: (input: Input, session: Session) => Promise<ApiResult<Answer>> | ApiResult<Answer>
}): ApiRoute {
  return {
    ...route,
    logged: (input) => route.logged?.(input as Input) ?? {},
    handle: async (input, session) => route.handle(input as Input, session),
  }
}
