import type { Logger } from '@nextvisit/service-kit'
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express'
import type { ZodError } from 'zod'
import type { ErrorAnswer } from '../api-routes.ts'
import { type ApiRefusal, type ApiRoute, refuse } from './api-route.ts'
import { type Session, sessionIdOf, type Sessions } from './sessions.ts'
import type { Site } from './site.ts'

interface AppParts {
  readonly site: Site
  readonly sessions: Sessions
  readonly routes: readonly ApiRoute[]
  /** Answers the routes that need no session: it signs people in and out. */
  readonly sessionRouter: RequestHandler
  readonly webFiles: RequestHandler
  readonly logger: Logger
}

const MAX_BODY = '16kb'
const EXPRESS_METHODS = { GET: 'get', POST: 'post', DELETE: 'delete' } as const

const NOT_OWN_REQUEST = refuse(
  403,
  'foreign-request',
  'Only pages of the console may send this request. Behind a proxy, CONSOLE_PUBLIC_URL must be the address that your browser shows.',
)
const SIGNED_OUT = refuse(401, 'signed-out', 'Sign in to continue.')
const NO_SUCH_ROUTE = refuse(404, 'no-such-route', 'The console has no such address.')
const FAILED = refuse(500, 'failed', 'The request failed. The log of the console says why.')

/** Creates the console's HTTP app: the JSON API below `api/`, and the one page for every other address. */
export function createApp({ site, sessions, routes, sessionRouter, webFiles, logger }: AppParts): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.use(withoutPrefix(site.basePath), securityHeaders)
  app.use('/api', (_request, response, next) => {
    response.set('cache-control', 'no-store')
    next()
  })
  app.use('/api', (request, response, next) => {
    if (request.method === 'GET' || request.method === 'HEAD' || site.isOwnRequest(request)) return next()
    sendRefusal(response, NOT_OWN_REQUEST)
  })
  app.use('/api', sessionRouter)
  for (const route of routes)
    app[EXPRESS_METHODS[route.method]](`/api/${route.path}`, answerWith(route, sessions, logger))
  app.use('/api', (_request, response) => sendRefusal(response, NO_SUCH_ROUTE))
  app.use(webFiles)
  app.use((_request, response) => sendRefusal(response, NO_SUCH_ROUTE))
  app.use(answerError(logger))
  return app
}

/** Allows scripts, styles and requests of the console only, nothing inline, and no frames. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

/** Sets the headers that protect a page from other sites. */
const securityHeaders: RequestHandler = (_request, response, next) => {
  response.set({
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  })
  next()
}

/** Removes the path prefix, which some proxies pass on and others strip. */
function withoutPrefix(basePath: string): RequestHandler {
  return (request, _response, next) => {
    if (basePath !== '/' && request.url.startsWith(basePath)) request.url = request.url.slice(basePath.length - 1)
    next()
  }
}

/** Reads the body only if the session may call the route. */
function answerWith(route: ApiRoute, sessions: Sessions, logger: Logger): RequestHandler {
  const readBody = readBodyOf(route.maxBody)
  return async (request, response) => {
    const session = sessions.find(sessionIdOf(request))
    if (!session) return sendRefusal(response, SIGNED_OUT)
    if (!mayCall(session, route)) return sendRefusal(response, notAllowed(route))
    if (route.method !== 'GET') await readBody(request, response)
    const input = route.input.safeParse(inputOf(request))
    if (!input.success) return sendRefusal(response, badInput(input.error))
    if (route.method !== 'GET')
      logger.info({ action: route.path, ...sessionFields(session), ...route.logged(input.data) }, 'console action')
    const result = await route.handle(input.data, session)
    if (result.outcome === 'refused') return sendRefusal(response, result)
    response.json(route.answer.parse(result.answer))
  }
}

/** Parses a JSON body of at most `limit` into `request.body`. Rejects with the error of `express.json`. */
export function readBodyOf(limit = MAX_BODY): (request: Request, response: Response) => Promise<void> {
  const parse = express.json({ limit })
  return (request, response) =>
    new Promise((resolve, reject) =>
      parse(request, response, (error?: unknown) => (error === undefined ? resolve() : reject(error as Error))),
    )
}

function mayCall({ role }: Session, route: ApiRoute): boolean {
  return role === 'operator' || route.role === 'viewer'
}

function notAllowed({ role }: ApiRoute): ApiRefusal {
  return refuse(403, 'not-allowed', `Only an ${role} may do this. Sign in with that token.`)
}

function inputOf(request: Request): object {
  const given = request.method === 'GET' ? request.query : (request.body as object | undefined)
  return { ...given, ...request.params }
}

/** Refuses an input, naming the first invalid member. */
export function badInput({ issues: [fault] }: ZodError): ApiRefusal {
  return refuse(400, 'bad-input', `${fault?.path.join('.') || 'input'}: ${fault?.message}`)
}

/** Members that identify a session in the log. */
export function sessionFields({ role, name, logName }: Session): Readonly<Record<string, string>> {
  return { role, by: name, session: logName }
}

export function sendRefusal(response: Response, { status, error, message }: ApiRefusal): void {
  response.status(status).json({ error, message } satisfies ErrorAnswer)
}

/** Answers errors of `express.json` and of handlers. */
function answerError(logger: Logger): ErrorRequestHandler {
  return (err: { status?: number; limit?: number }, request, response, _next) => {
    const status = err.status ?? 500
    if (status < 500) {
      const limit = err.limit === undefined ? '' : ` of at most ${err.limit / 1_024} KiB`
      return sendRefusal(response, refuse(status, 'bad-body', `The body must be JSON${limit}.`))
    }
    logger.error({ err, route: request.path.split('/').slice(0, 3).join('/') }, 'request failed')
    sendRefusal(response, FAILED)
  }
}
