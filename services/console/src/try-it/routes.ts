import { ROUTES, type RouteSignature } from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import { answered, type ApiResult, type ApiRoute, apiRoute, refuse } from '../http/api-route.ts'
import { TryAnswer, TryIdentify, TryTrack, TryVisit } from './api.ts'
import type { Demo } from './demo.ts'

export interface TryItParts {
  readonly findDemo: () => Promise<Demo | undefined>
  /** The gateway's public address. */
  readonly gatewayUrl: string | undefined
}

type TryBody = { readonly userName: string } & Readonly<Record<string, unknown>>

const ANSWER_WITHIN_MS = 5_000
const NO_DEMO = refuse(404, 'no-demo', 'The demo is not loaded here, so there are no keys to try.')
const NO_GATEWAY = refuse(503, 'no-answer', 'The gateway does not answer. The Overview says what to do.')

/** Identify, track and visit with the demo's keys, which never leave the server. */
export function createTryItRoutes({ findDemo, gatewayUrl }: TryItParts): readonly ApiRoute[] {
  async function send(route: RouteSignature, body: TryBody): Promise<ApiResult<TryAnswer>> {
    const { pattern: path, keyKind: key } = route
    const demo = await findDemo()
    if (!demo || gatewayUrl === undefined) return NO_DEMO
    const text = JSON.stringify(body, null, 2)
    const response = await fetch(new URL(path, gatewayUrl), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': demo.keys[key] },
      body: text,
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    }).catch(() => undefined)
    if (!response) return NO_GATEWAY
    const { organization, project } = demo.project
    return answered({
      request: { path, key, body: text },
      status: response.status,
      body: await response.text(),
      user: { organization, project, userId: userIdOf(organization, project, body.userName.toWellFormed()) },
    })
  }

  const common = { method: 'POST', role: 'operator', answer: TryAnswer } as const
  return [
    apiRoute({
      ...common,
      path: 'try/identify',
      input: TryIdentify,
      handle: ({ userName, plan }) =>
        send(ROUTES.identifyUser, {
          userName,
          userAttributes: { $set: { plan } },
        }),
    }),
    apiRoute({
      ...common,
      path: 'try/track',
      input: TryTrack,
      handle: (body) => send(ROUTES.trackEvent, body),
    }),
    apiRoute({
      ...common,
      path: 'try/visit',
      input: TryVisit,
      handle: (body) => send(ROUTES.visit, body),
    }),
  ]
}
