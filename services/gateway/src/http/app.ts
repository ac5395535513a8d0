import { randomUUIDv7 } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { pathsOf } from '@nextvisit/contracts'
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express'
import { REFUSALS, refuse } from '../refusals/refusals.ts'
import { type AnswerRequestParts, createAnswerRequest } from './answer-request.ts'
import { answer as answerWith, pathOf, type Route, type Result } from './route.ts'
import { createRefusePath } from './refuse-path.ts'
import { writeAnswer, writePreflight, writeText } from './answer/write-answer.ts'

/** A static text that needs no key. */
export interface ServedDocument {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Called by each request, not at start. Answers share the bytes of a large text. */
  readonly read: () => Promise<string | Uint8Array>
}

interface AppParts extends AnswerRequestParts {
  readonly routes: readonly Route[]
  readonly documents: readonly ServedDocument[]
  /** Returns the reasons why requests would fail now. */
  readonly notReadyReasons: () => readonly string[]
}

/**
 * Dispatches the routes that record itself: all have `POST` and a fixed path. The rest, also a command with an id in its path, goes to Express, which costs
 * more than all other work of a request (design.md, Five decisions). One route table drives both.
 */
export function createApp(parts: AppParts): RequestListener {
  const answerRequest = createAnswerRequest(parts)
  const expressApp = createExpressApp(parts, answerRequest)
  const recording = new Map(
    parts.routes.flatMap((route) =>
      route.method === 'POST' && !route.pattern.includes('{') ? pathsOf(route).map((path) => [path, route]) : [],
    ),
  )
  const parameters = new URLSearchParams()
  return (request, response) => {
    const route = request.method === 'POST' ? recording.get(pathOf(request)) : undefined
    if (route) void answerRequest(route, parameters, request, response)
    else expressApp(request, response)
  }
}

/** Creates the app for reads, health, the API's description, preflights, and unknown paths and methods (404, 405). */
function createExpressApp(parts: AppParts, answerRequest: ReturnType<typeof createAnswerRequest>): Express {
  const { routes, documents, notReadyReasons, logger } = parts
  const refusePath = createRefusePath(parts)
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.enable('case sensitive routing')
  app.enable('strict routing')

  app.get('/livez', (_request, response) => respond(response, answerWith(200, { status: 'available' })))
  app.get('/readyz', (_request, response) => {
    const reasons = notReadyReasons()
    const isReady = reasons.length === 0
    const ready = answerWith(200, { status: 'available', reasons })
    respond(response, isReady ? ready : refuse(REFUSALS.notReady(reasons)))
  })
  for (const { path, headers, read } of documents) {
    app.get(path, async (_request, response) =>
      writeText(response, 200, await read(), { ...headers, 'X-Request-Id': randomUUIDv7() }),
    )
  }
  for (const route of routes) {
    const paths = pathsOf(route).map(toExpressPath)
    const answer = (request: Request, response: Response) =>
      answerRequest(route, parametersOf(request), request, response)
    if (route.method === 'GET') app.get(paths, answer)
    else if (route.method === 'DELETE') app.delete(paths, answer)
    else app.post(paths, answer)
    if (route.keyKind === 'sdk') app.options(paths, (_request, response) => writePreflight(response))
  }
  for (const [path, methods] of allowedMethods(routes, documents))
    app.all(path, (request, response) => refusePath(request, response, refuse(REFUSALS.otherMethod(methods))))
  app.use((request, response) => refusePath(request, response, refuse(REFUSALS.noRoute)))

  // A path that cannot be decoded is the caller's mistake. All other errors are ours, and are not explained.
  const answerError: ErrorRequestHandler = (error: unknown, _request, response, _next) => {
    if (error instanceof URIError) return respond(response, refuse(REFUSALS.path))
    const requestId = randomUUIDv7()
    logger.error({ err: error, requestId }, 'A request failed')
    respond(response, refuse(REFUSALS.broken), requestId)
  }
  return app.use(answerError)
}

function respond(response: Response, result: Result, requestId = randomUUIDv7()): void {
  writeAnswer(response, result, { 'X-Request-Id': requestId })
}

/** Translates a pattern: `/v2/admin/users/{userName}` → `/v2/admin/users/:userName`. */
function toExpressPath(pattern: string): string {
  return pattern.replace(/\{(\w+)\}/g, ':$1')
}

function parametersOf({ url, params }: Request): URLSearchParams {
  const parameters = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '')
  for (const [name, value] of Object.entries(params)) if (typeof value === 'string') parameters.set(name, value)
  return parameters
}

/** Returns the methods of each path in Express. Routes of `GET` answer `HEAD`, too. */
function allowedMethods(
  routes: readonly Route[],
  documents: readonly ServedDocument[],
): ReadonlyMap<string, readonly string[]> {
  const open = ['/livez', '/readyz', ...documents.map(({ path }) => path)]
  const methods = new Map(open.map((path) => [path, ['GET', 'HEAD']]))
  for (const route of routes) {
    const { method, keyKind } = route
    const own = [method, ...(method === 'GET' ? ['HEAD'] : []), ...(keyKind === 'sdk' ? ['OPTIONS'] : [])]
    for (const path of pathsOf(route).map(toExpressPath)) methods.set(path, [...(methods.get(path) ?? []), ...own])
  }
  return methods
}
