import type { Logger } from '@nextvisit/service-kit'
import { type RequestHandler, Router } from 'express'
import { API_ROUTES } from '../api-routes.ts'
import { refuse } from '../http/api-route.ts'
import { badInput, readBodyOf, sendJson, sendRefusal, sessionFields } from '../http/app.ts'
import type { Session, Sessions } from '../http/sessions.ts'
import type { Site } from '../http/site.ts'
import { type SessionAnswer, sessionApi } from './api.ts'
import type { TokenCheck } from './check-token.ts'

interface SessionRouterParts {
  readonly site: Site
  readonly sessions: Sessions
  readonly checkToken: (token: string) => TokenCheck
  /** Resolves to true if *Try it* has keys. */
  readonly canTry: () => Promise<boolean>
  readonly logger: Logger
}

const WRONG_TOKEN = refuse(
  401,
  'wrong-token',
  'This is not a token of this console. npx -y pnpm start prints it; elsewhere it is CONSOLE_TOKEN.',
)

/** Answers the routes that need no session. They are served apart, as they set and clear its cookie. */
export function createSessionRouter({
  site,
  sessions,
  checkToken,
  canTry,
  logger,
}: SessionRouterParts): RequestHandler {
  const router = Router()
  const readBody = readBodyOf()

  const answerOf = async ({ role, name, expiresAtMs }: Session): Promise<SessionAnswer> => ({
    role,
    name,
    expiresAt: new Date(expiresAtMs).toISOString(),
    canTry: await canTry(),
  })

  router.get(`/${API_ROUTES.readSession.path}`, async (request, response) => {
    const session = site.sessionOf(request, sessions)
    sendJson(response, 200, JSON.stringify(session ? await answerOf(session) : null))
  })

  router.post(`/${API_ROUTES.signIn.path}`, async (request, response) => {
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
    const name = body.data.name || checked.role
    const session = sessions.open(checked.role, { ...site.callerOf(request), name })
    site.setCookie(request, response, session.id)
    logger.info({ action: 'sign in', ...sessionFields(session) }, 'console action')
    sendJson(response, 200, JSON.stringify(await answerOf(session)))
  })

  router.delete(`/${API_ROUTES.signOut.path}`, (request, response) => {
    const session = site.sessionOf(request, sessions)
    if (session) {
      sessions.close(session.id)
      logger.info({ action: 'sign out', ...sessionFields(session) }, 'console action')
    }
    site.clearCookie(request, response)
    sendJson(response, 200, '{}')
  })

  return router
}
