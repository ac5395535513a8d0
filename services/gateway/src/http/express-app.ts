import { randomUUIDv7 } from 'node:crypto'
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express'
import type { Logger } from '../logger.ts'
import { busy, refuse } from '../refusal.ts'
import { answer, type Route } from '../route.ts'
import type { AnswerRequest } from './answer-request.ts'
import { preflightHeaders } from './cors.ts'
import { createDocuments, type ServedDocument } from './documents.ts'
import { drain } from './drain.ts'
import { SECURITY_HEADERS, writeAnswer, writeText } from './write-answer.ts'

export interface ExpressAppParts {
  readonly routes: readonly Route[]
  readonly answerRequest: AnswerRequest
  /** Why a request would not succeed now; empty while it would. */
  readonly whyNotReady: () => readonly string[]
  readonly logger: Logger
}

/** Everything but the dispatched ingestion routes: reads, health, the API's description, preflights, and what does not exist (404, 405). */
export function createExpressApp({ routes, answerRequest, whyNotReady, logger }: ExpressAppParts): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.enable('case sensitive routing')
  app.enable('strict routing')

  app.get('/livez', (request, response) => respond(request, response, answer(200, { status: 'available' })))
  app.get('/readyz', (request, response) => {
    const reasons = whyNotReady()
    const isReady = reasons.length === 0
    respond(request, response, isReady ? answer(200, { status: 'available', reasons }) : busy(reasons.join('; ')))
  })

  const documents = createDocuments()
  for (const { path, headers, read } of documents) {
    app.get(path, async (_request, response) =>
      writeText(response, 200, await read(), { ...headers, 'X-Request-Id': randomUUIDv7() }),
    )
  }
  for (const route of routes) {
    const path = toExpressPath(route.pattern)
    const register = route.method === 'GET' ? app.get.bind(app) : app.post.bind(app)
    register(path, (request, response) => answerRequest(route, locate(request), request, response))
    if (route.keyKind === 'sdk') app.options(path, preflight)
  }
  for (const [path, methods] of allowedMethods(routes, documents)) {
    app.all(path, (request, response) =>
      respond(request, response, refuse(405, `Use ${methods.join(' or ')}`, { Allow: methods.join(', ') })),
    )
  }
  app.use((request, response) => respond(request, response, refuse(404, 'There is no such route')))
  app.use(answerError(logger))
  return app
}

function respond(request: Request, response: Response, result: Parameters<typeof writeAnswer>[1]): void {
  writeAnswer(response, result, { 'X-Request-Id': randomUUIDv7() })
  drain(request)
}

/** `/v2/admin/users/{userName}` → `/v2/admin/users/:userName`. */
function toExpressPath(pattern: string): string {
  return pattern.replace(/\{(\w+)\}/g, ':$1')
}

function locate(request: Request) {
  const parameters = Object.entries(request.params).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as const] : [],
  )
  const queryAt = request.url.indexOf('?')
  return {
    pathParameters: new Map(parameters),
    query: new URLSearchParams(queryAt === -1 ? '' : request.url.slice(queryAt)),
  }
}

function preflight(_request: Request, response: Response): void {
  response.writeHead(204, { ...SECURITY_HEADERS, ...preflightHeaders, 'X-Request-Id': randomUUIDv7() }).end()
}

/** By Express' path; a route of `GET` answers `HEAD` too. */
function allowedMethods(
  routes: readonly Route[],
  documents: readonly ServedDocument[],
): ReadonlyMap<string, readonly string[]> {
  const open = ['/livez', '/readyz', ...documents.map(({ path }) => path)]
  const methods = new Map(open.map((path) => [path, ['GET', 'HEAD']]))
  for (const { pattern, method, keyKind } of routes) {
    const own = [method, ...(method === 'GET' ? ['HEAD'] : []), ...(keyKind === 'sdk' ? ['OPTIONS'] : [])]
    const path = toExpressPath(pattern)
    methods.set(path, [...(methods.get(path) ?? []), ...own])
  }
  return methods
}

/** A path that can't be decoded is the caller's fault; everything else is ours, and says nothing. */
function answerError(logger: Logger): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    if (error instanceof URIError)
      return respond(request, response, refuse(400, 'The path must be valid percent-encoding'))
    const requestId = randomUUIDv7()
    logger.error({ err: error, requestId }, 'A request failed')
    writeAnswer(response, refuse(500, 'Internal Server Error'), { 'X-Request-Id': requestId })
  }
}
