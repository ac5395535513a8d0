import type { Logger } from '@nextvisit/service-kit'
import { type RequestHandler, Router } from 'express'
import { refuse } from '../http/api-route.ts'
import { badInput, readBodyOf, sendRefusal, whoIs } from '../http/app.ts'
import { clearSessionCookie, sessionIdOf, setSessionCookie } from '../http/session-cookie.ts'
import type { Site } from '../http/site.ts'
import { type SessionAnswer, SignIn } from './api.ts'
import type { TokenCheck } from './check-token.ts'
import type { Session, Sessions } from './sessions.ts'

export interface SigningInParts {
  readonly site: Site
  readonly sessions: Sessions
  readonly checkToken: (token: string) => TokenCheck
  /** Whether *Try it* has keys. */
  readonly canTry: () => Promise<boolean>
  readonly logger: Logger
}

const WRONG_TOKEN = refuse(
  401,
  'wrong-token',
  'This is not a token of this console. npx -y pnpm start prints it; elsewhere it is CONSOLE_TOKEN.',
)

/** `api/session`: GET says who is signed in (null: nobody), POST signs in, DELETE signs out. */
export function createSigningIn({ site, sessions, checkToken, canTry, logger }: SigningInParts): RequestHandler {
  const router = Router()
  const readBody = readBodyOf()

  const answerOf = async ({ role, name, expiresAtMs }: Session): Promise<SessionAnswer> => ({
    role,
    name,
    expiresAt: new Date(expiresAtMs).toISOString(),
    canTry: await canTry(),
  })

  router.get('/session', async (request, response) => {
    const session = sessions.find(sessionIdOf(request))
    response.json(session ? await answerOf(session) : null)
  })

  router.post('/session', async (request, response) => {
    await readBody(request, response)
    const body = SignIn.safeParse(request.body)
    if (!body.success) return sendRefusal(response, badInput(body.error))
    const checked = checkToken(body.data.token)
    if (checked.outcome === 'too-many') {
      response.set('retry-after', String(checked.retryAfterSeconds))
      const message = `This is not a token of this console, and there were too many wrong ones. Try again in ${checked.retryAfterSeconds} s.`
      return sendRefusal(response, refuse(429, 'too-many', message))
    }
    if (checked.outcome === 'refused') {
      logger.warn({}, 'signing in with a wrong token was refused')
      return sendRefusal(response, WRONG_TOKEN)
    }
    const session = sessions.open(checked.role, body.data.name || checked.role)
    setSessionCookie(response, site, session.id)
    logger.info({ action: 'sign in', ...whoIs(session) }, 'console action')
    response.json(await answerOf(session))
  })

  router.delete('/session', (request, response) => {
    const session = sessions.find(sessionIdOf(request))
    if (session) {
      sessions.close(session.id)
      logger.info({ action: 'sign out', ...whoIs(session) }, 'console action')
    }
    clearSessionCookie(response, site)
    response.json({})
  })

  return router
}
