import type { ChangeLog } from '@nextvisit/operator-changes'
import { type Logger, reportUnread } from '@nextvisit/service-kit'
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express'
import type { ZodError } from 'zod'
import type { ErrorAnswer } from '../api-routes.ts'
import type { Actor } from './actor.ts'
import { type ApiRefusal, type ApiRoute, refuse } from './api-route.ts'
import { FileAnswer } from './file-answer.ts'
import { recordingChange } from './recording-change.ts'
import { createRequestLimit } from './request-limit.ts'
import { sendFile } from './send-file.ts'
import { NoSessionsError, type Session, type Sessions } from './sessions.ts'
import type { Site } from './site.ts'

interface AppParts {
  readonly site: Site
  readonly sessions: Sessions
  readonly routes: readonly ApiRoute[]
  /** Answers the routes that need no session: it signs people in and out. */
  readonly sessionRouter: RequestHandler
  readonly webFiles: RequestHandler
  /** Writes the changes of routes to the log. */
  readonly changes: Pick<ChangeLog, 'record'>
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
const NO_SESSIONS = refuse(
  503,
  'no-sessions',
  'The console cannot tell who you are: sessions are in Redis, which does not answer or refuses. You stay signed in, and the page works again with Redis. The log of the console says why. nextvisit status works without Redis.',
)
const NO_SUCH_ROUTE = refuse(404, 'no-such-route', 'The console has no such address.')
const FAILED = refuse(500, 'failed', 'The request failed. The log of the console says why.')
const TOO_LARGE = refuse(
  500,
  'too-large',
  'The answer is larger than 8 MiB, which the console does not send. Choose a smaller part, or use the commands of nextvisit.',
)
const TOO_MANY_REQUESTS = refuse(
  429,
  'too-many-requests',
  'The console is working on too many requests of your session or role. Try again in a moment.',
)
/** Answers are built in memory. No screen needs more. */
const MAX_ANSWER_BYTES = 8 * 2 ** 20
/** A person has several screens open, each with some requests. Viewers never take the turns of operators. */
const MAX_REQUESTS = { ofSession: 30, ofRole: 100 }

/** Creates the console's HTTP app: the JSON API below `api/`, and the one page for every other address. */
export function createApp({ site, sessions, routes, sessionRouter, webFiles, changes, logger }: AppParts): Express {
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
  const parts = { site, sessions, changes, logger, limited: createRequestLimit(MAX_REQUESTS, TOO_MANY_REQUESTS) }
  for (const route of routes) app[EXPRESS_METHODS[route.method]](`/api/${route.path}`, answerWith(route, parts))
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

interface RouteParts extends Pick<AppParts, 'site' | 'sessions' | 'changes' | 'logger'> {
  readonly limited: ReturnType<typeof createRequestLimit>
}

/** Reads the body only if the session may call the route. */
function answerWith(route: ApiRoute, { site, sessions, changes, logger, limited }: RouteParts): RequestHandler {
  const readBody = readBodyOf(route.maxBody)
  const handle = recordingChange(route, changes)
  return async (request, response) => {
    const session = await site.sessionOf(request, sessions)
    if (!session) return sendRefusal(response, SIGNED_OUT)
    if (!mayCall(session, route)) return sendRefusal(response, notAllowed(route))
    if (route.method !== 'GET') await readBody(request, response)
    const input = route.input.safeParse(inputOf(request))
    if (!input.success) return sendRefusal(response, badInput(input.error))
    if (route.method !== 'GET')
      logger.info({ action: route.path, ...sessionFields(session), ...route.logged(input.data) }, 'console action')
    const signal = signalOf(route, response)
    const result = await limited(session, signal, async () => handle(input.data, session, signal)).catch(
      (error: unknown) => {
        if (signal.aborted) return undefined
        throw error
      },
    )
    if (result === undefined || signal.aborted) return
    if (result.outcome === 'refused') return sendRefusal(response, result)
    if (result.answer instanceof FileAnswer) return sendFile(response, result.answer)
    const text = JSON.stringify(route.answer.parse(result.answer))
    if (Buffer.byteLength(text) > MAX_ANSWER_BYTES) {
      logger.warn({ route: route.path, bytes: Buffer.byteLength(text) }, 'an answer is too large')
      return sendRefusal(response, TOO_LARGE)
    }
    sendJson(response, 200, text)
  }
}

/** Returns a signal that is aborted when the request closes. A change goes on: it may be half done. */
function signalOf({ role }: ApiRoute, response: Response): AbortSignal {
  const closing = new AbortController()
  if (role === 'viewer') response.once('close', () => closing.abort(new Error('The request was closed.')))
  return closing.signal
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
  return refuse(403, 'not-allowed', `Only an ${role} may do this. Sign in as one.`)
}

function inputOf(request: Request): object {
  const given = request.method === 'GET' ? request.query : (request.body as object | undefined)
  return { ...given, ...request.params }
}

/** Refuses an input, naming the first invalid member. */
export function badInput({ issues: [fault] }: ZodError): ApiRefusal {
  return refuse(400, 'bad-input', `${fault?.path.join('.') || 'input'}: ${fault?.message}`)
}

/** Members that identify a person and their session in the log. */
export function sessionFields({ role, name, isVerified, subject, logName }: Actor): Readonly<Record<string, unknown>> {
  return { role, by: name, isVerified, ...(subject !== null && { subject }), session: logName }
}

export function sendRefusal(response: Response, { status, error, message }: ApiRefusal): void {
  sendJson(response, status, JSON.stringify({ error, message } satisfies ErrorAnswer))
}

/** Sends JSON. Its bytes count as unread until the reader has taken them. */
export function sendJson(response: Response, status: number, text: string): void {
  response.status(status).type('json').send(text)
  reportUnread(response, Buffer.byteLength(text))
}

/** Answers errors of `express.json` and of handlers. */
function answerError(logger: Logger): ErrorRequestHandler {
  return (err: { status?: number; limit?: number }, request, response, _next) => {
    if (err instanceof NoSessionsError) return sendRefusal(response, NO_SESSIONS)
    const status = err.status ?? 500
    if (status < 500) {
      const limit = err.limit === undefined ? '' : ` of at most ${err.limit / 1_024} KiB`
      return sendRefusal(response, refuse(status, 'bad-body', `The body must be JSON${limit}.`))
    }
    logger.error({ err, route: request.path.split('/').slice(0, 3).join('/') }, 'request failed')
    sendRefusal(response, FAILED)
  }
}
