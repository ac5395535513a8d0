import type { Logger } from '@nextvisit/service-kit'
import { type RequestHandler, Router } from 'express'
import { API_ROUTES } from '../api-routes.ts'
import { refuse } from '../http/api-route.ts'
import { badInput, readBodyOf, sendJson, sendRefusal } from '../http/app.ts'
import { NoSessionsError, type Session, type Sessions, TOKEN_SESSION_MS } from '../http/sessions.ts'
import type { Site } from '../http/site.ts'
import { type SessionAnswer, sessionApi, type SignInAnswer } from './api.ts'
import type { TokenCheck } from './check-token.ts'
import { createCloseSession, createOpenSession } from './open-session.ts'
import { createOpenIdRouter, type OpenId } from './openid-routes.ts'

interface SessionRouterParts {
  readonly site: Site
  readonly sessions: Sessions
  /** undefined: nobody signs in with a token. */
  readonly checkToken: ((token: string) => TokenCheck) | undefined
  /** undefined: nobody signs in with an identity provider. */
  readonly openId: OpenId | undefined
  /** Resolves to true if *Try it* has keys. */
  readonly canTry: () => Promise<boolean>
  readonly nowMs: () => number
  readonly logger: Logger
}

const WRONG_TOKEN = refuse(
  401,
  'wrong-token',
  'This is not a token of this console. npx -y pnpm start prints it; elsewhere it is CONSOLE_TOKEN.',
)
const NOT_ENDED = refuse(
  503,
  'no-sessions',
  'This browser has forgotten your session. Redis does not answer, so the session itself ends later: after two hours without a request.',
)
const NO_TOKENS = refuse(403, 'no-tokens', 'This console accepts no tokens. Sign in with the identity provider.')

/** Answers the routes that need no session. They are served apart, as they set and clear its cookie. */
export function createSessionRouter(parts: SessionRouterParts): RequestHandler {
  const { site, sessions, checkToken, openId, canTry, nowMs, logger } = parts
  const router = Router()
  const readBody = readBodyOf()
  const closeSession = createCloseSession(parts)
  const openSession = createOpenSession({ ...parts, closeSession })

  const answerOf = async ({ role, name, isVerified, expiresAtMs }: Session): Promise<SessionAnswer> => ({
    role,
    name,
    verifiedBy: isVerified ? (openId?.name ?? null) : null,
    expiresAt: new Date(expiresAtMs).toISOString(),
    canTry: await canTry(),
  })

  router.get(`/${API_ROUTES.readSession.path}`, async (request, response) => {
    const session = await site.sessionOf(request, sessions)
    sendJson(response, 200, JSON.stringify(session ? await answerOf(session) : null))
  })

  router.get(`/${API_ROUTES.readSignIn.path}`, async (_request, response) => {
    const provider = openId && { name: openId.name, isAvailable: await openId.provider.isAvailable() }
    const answer: SignInAnswer = {
      hasTokens: checkToken !== undefined,
      provider: provider ?? null,
      roles: openId?.roles ?? null,
    }
    sendJson(response, 200, JSON.stringify(answer))
  })

  router.post(`/${API_ROUTES.signIn.path}`, async (request, response) => {
    if (!checkToken) return sendRefusal(response, NO_TOKENS)
    await readBody(request, response)
    const body = sessionApi.signIn.input.safeParse(request.body)
    if (!body.success) return sendRefusal(response, badInput(body.error))
    const checked = checkToken(body.data.token)
    if (checked.outcome === 'too-many') {
      response.set('retry-after', String(checked.retryAfterSeconds))
      const message = `This is not a token of this console, and too many wrong tokens were tried. Try again in ${checked.retryAfterSeconds} s.`
      return sendRefusal(response, refuse(429, 'too-many', message))
    }
    if (checked.outcome === 'refused') {
      logger.warn({}, 'sign-in with a wrong token refused')
      return sendRefusal(response, WRONG_TOKEN)
    }
    const { role } = checked
    const person = { role, name: body.data.name || role, isVerified: false, subject: null, lastsMs: TOKEN_SESSION_MS }
    const session = await openSession(request, response, person)
    sendJson(response, 200, JSON.stringify(await answerOf(session)))
  })

  router.delete(`/${API_ROUTES.signOut.path}`, async (request, response) => {
    // First: the browser forgets the session even if Redis keeps it.
    site.clearCookie(request, response)
    let session: Session | undefined
    try {
      session = await site.sessionOf(request, sessions)
      if (session) await closeSession(session)
    } catch (error) {
      if (error instanceof NoSessionsError) return sendRefusal(response, NOT_ENDED)
      throw error
    }
    const leaveTo = session?.isVerified ? ((await openId?.provider.signOutAddress()) ?? null) : null
    sendJson(response, 200, JSON.stringify({ leaveTo }))
  })

  if (openId) router.use(createOpenIdRouter({ site, openId, openSession, nowMs }))
  return router
}
