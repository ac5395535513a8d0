import type { Call, CallTable } from '@nextvisit/contracts'
import type { z, ZodType } from 'zod'

/** Circumstances of a call that a handler answers. */
export interface CallContext {
  /** Aborted when the caller's deadline passes or the caller disconnects: the answer is not read then. */
  readonly signal: AbortSignal
  /** The caller's deadline, a `performance.now()` instant. */
  readonly deadlineAt: number
}

export interface CallOptions {
  /** The caller's deadline, a `performance.now()` instant. It is sent with the call. Default: the client's timeout. */
  readonly deadlineAt?: number
  readonly signal?: AbortSignal
  /** The `traceparent`s of requests that wait for the answer. */
  readonly traceparents?: readonly (string | undefined)[] | undefined
}

export type CallOutcome<Answer> =
  | { readonly outcome: 'answered'; readonly answer: Answer }
  | { readonly outcome: 'not-found' }
  /** The requested rows are not folded yet. The service works. */
  | { readonly outcome: 'behind' }
  /** Unreachable, too slow, or an invalid answer. The service may still have done the work. */
  | { readonly outcome: 'unavailable'; readonly cause: Error }

/** Returns the time until a deadline, a `performance.now()` instant. Never negative. */
export function remainingMs(deadlineAt: number): number {
  return Math.max(0, deadlineAt - performance.now())
}

/** The answer of a handler that finds nothing. */
export const NOT_FOUND = Symbol('not found')
/**
 * The answer of a handler whose rows are behind the log. A breaker does not count it as a failure, because rows of other
 * partitions may be up to date.
 */
export const BEHIND = Symbol('behind')

/** Answers one call. An error that is `retryable` means that the caller may ask again. */
type Handler<Question, Answer, Context> = (
  question: Question,
  context: Context,
) => Promise<Answer | typeof NOT_FOUND | typeof BEHIND>

/** One handler for each call of a table. `Parts`: the parts of the process that handlers get with each call. */
export type Handlers<Table extends CallTable, Parts = unknown> = {
  readonly [Name in keyof Table]: Handler<
    z.output<Table[Name]['question']>,
    z.input<Table[Name]['answer']>,
    CallContext & Parts
  >
}

/** A call with its handler: a route of an internal server. */
export interface CallRoute extends Pick<Call, 'path' | 'question'> {
  readonly handle: Handler<unknown, unknown, CallContext>
}

/** A call as a function: sends one question to a service. Never rejects. */
export type CallFunction<Question, Answer> = (question: Question, options?: CallOptions) => Promise<CallOutcome<Answer>>

/** The calls of a table as functions. */
export type CallClient<Table extends CallTable> = {
  readonly [Name in keyof Table]: CallFunction<z.input<Table[Name]['question']>, z.output<Table[Name]['answer']>>
}

/** Carries one call to a service. Never rejects. */
export type Send = <Answer extends ZodType>(
  call: Call<ZodType, Answer>,
  question: unknown,
  options?: CallOptions,
) => Promise<CallOutcome<z.output<Answer>>>

/** Returns the routes of a service, for its internal server. Each handler gets `parts` in its context. */
export function serveCalls<Table extends CallTable>(table: Table, handlers: Handlers<Table>): readonly CallRoute[]
export function serveCalls<Table extends CallTable, Parts>(
  table: Table,
  handlers: Handlers<Table, Parts>,
  parts: Parts,
): readonly CallRoute[]
export function serveCalls(table: CallTable, handlers: object, parts?: object): readonly CallRoute[] {
  return Object.entries(table).map(([name, { path, question }]) => {
    // The compiler has checked each handler against its call; from here on they are one type.
    const handle = (handlers as Readonly<Record<string, unknown>>)[name] as CallRoute['handle']
    return { path, question, handle: parts ? (asked, context) => handle(asked, { ...parts, ...context }) : handle }
  })
}

/** Returns the calls of a table as functions. `send` chooses the process that answers. */
export function createCallClient<Table extends CallTable>(table: Table, send: Send): CallClient<Table> {
  const calls = Object.entries(table).map(([name, call]) => [
    name,
    (question: unknown, options?: CallOptions) => send(call, question, options),
  ])
  return Object.fromEntries(calls) as CallClient<Table>
}

/** Returns the calls of a table as functions that run the handlers in this process. They reject as the handlers do. */
export function createLocalClient<Table extends CallTable>(table: Table, handlers: Handlers<Table>): CallClient<Table> {
  return createCallClient(table, sendLocally(serveCalls(table, handlers)))
}

/** Carries calls to routes in this process. Rejects as their handlers do, and for questions and answers that do not fit. */
export function sendLocally(routes: readonly CallRoute[]): Send {
  return async ({ path, question, answer }, asked, options = {}) => {
    const { signal = new AbortController().signal, deadlineAt = Infinity } = options
    const route = routes.find((one) => one.path === path)
    if (!route) throw new RangeError(`There is no route ${path}`)
    const answered = await route.handle(question.parse(asked), { signal, deadlineAt })
    if (answered === NOT_FOUND) return { outcome: 'not-found' }
    if (answered === BEHIND) return { outcome: 'behind' }
    return { outcome: 'answered', answer: answer.parse(answered) }
  }
}
