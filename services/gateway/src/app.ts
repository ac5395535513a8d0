import type { IncomingMessage, RequestListener } from 'node:http'
import { type AnswerRequestParts, createAnswerRequest } from './http/answer-request.ts'
import { createExpressApp } from './http/express-app.ts'
import type { Route } from './route.ts'

export interface AppParts extends AnswerRequestParts {
  readonly routes: readonly Route[]
  /** Why a request would not succeed now; empty while it would. */
  readonly whyNotReady: () => readonly string[]
}

const NOTHING_LOCATED = { pathParameters: new Map<string, string>(), query: new URLSearchParams() }

/**
 * Dispatches the ingestion routes itself and leaves the rest to Express, which costs more than everything else that a
 * request does (design.md, decision 5). One route table drives both.
 */
export function createApp(parts: AppParts): RequestListener {
  const answerRequest = createAnswerRequest(parts)
  const expressApp = createExpressApp({ ...parts, answerRequest })
  const ingestion = new Map(
    parts.routes.filter(({ isIngestion }) => isIngestion).map((route) => [`${route.method} ${route.pattern}`, route]),
  )
  return (request, response) => {
    const route = ingestion.get(`${request.method} ${pathOf(request)}`)
    if (route) void answerRequest(route, NOTHING_LOCATED, request, response)
    else expressApp(request, response)
  }
}

function pathOf({ url = '' }: IncomingMessage): string {
  const queryAt = url.indexOf('?')
  return queryAt === -1 ? url : url.slice(0, queryAt)
}
