import { ROUTES, type RouteSignature } from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import { answered, type ApiResult, refuse, serveApi } from '../http/api-route.ts'
import { type TryAnswer, tryItApi } from './api.ts'
import type { Demo } from './demo.ts'

interface TryItParts {
  readonly findDemo: () => Promise<Demo | undefined>
  /** Public address of the gateway. */
  readonly gatewayUrl: string | undefined
}

const ANSWER_WITHIN_MS = 5_000
const NO_DEMO = refuse(404, 'no-demo', 'The demo is not loaded, so there are no keys to try.')
const NO_GATEWAY = refuse(503, 'no-answer', 'The gateway does not answer. The Overview says what to do.')

/** Keys of the demo by the kind that a route accepts. */
const KEYS = { admin: 'testAdmin', sdk: 'testSdk' } as const

/** Requests with the demo's test keys, which never leave the server. */
export function createTryItRoutes({ findDemo, gatewayUrl }: TryItParts) {
  async function send(
    route: RouteSignature,
    body: { readonly userName: string; readonly [member: string]: unknown },
  ): Promise<ApiResult<TryAnswer>> {
    const { pattern: path, keyKind: key } = route
    const demo = await findDemo()
    if (!demo || gatewayUrl === undefined) return NO_DEMO
    const text = JSON.stringify(body, null, 2)
    const response = await fetch(new URL(path, gatewayUrl), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': demo.keys[KEYS[key]] },
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

  return serveApi(tryItApi, {
    tryIdentify: ({ userName, plan }) => send(ROUTES.identifyUser, { userName, userAttributes: { $set: { plan } } }),
    tryTrack: (body) => send(ROUTES.trackEvent, body),
    tryVisit: (body) => send(ROUTES.visit, body),
    tryAnswer: (body) => send(ROUTES.giveSdkAnswers, body),
  })
}
