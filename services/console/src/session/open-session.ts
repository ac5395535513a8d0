import type { Logger } from '@nextvisit/service-kit'
import type { Request, Response } from 'express'
import { sessionFields } from '../http/app.ts'
import type { Person, Session, Sessions } from '../http/sessions.ts'
import type { Site } from '../http/site.ts'

export type OpenSession = (
  request: Request,
  response: Response,
  person: Omit<Person, 'host' | 'address'>,
) => Promise<Session>

type CloseSession = (session: Session) => Promise<void>

interface SessionParts {
  readonly site: Site
  readonly sessions: Sessions
  readonly logger: Logger
}

/** Creates the function that signs a person in, always under a new id. It ends the session that the browser had. */
export function createOpenSession(parts: SessionParts & { readonly closeSession: CloseSession }): OpenSession {
  const { site, sessions, closeSession, logger } = parts
  return async (request, response, person) => {
    const previous = await site.sessionOf(request, sessions)
    if (previous) await closeSession(previous)
    const session = await sessions.open({ ...site.callerOf(request), ...person })
    site.setCookie(request, response, session.id, person.lastsMs)
    logger.info({ action: 'sign in', ...sessionFields(session) }, 'console action')
    return session
  }
}

/** Creates the function that ends a session. */
export function createCloseSession({ sessions, logger }: Omit<SessionParts, 'site'>): CloseSession {
  return async (session) => {
    await sessions.close(session)
    logger.info({ action: 'sign out', ...sessionFields(session) }, 'console action')
  }
}
