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

/** Creates the function that signs a person in, always under a new id, whatever cookie the browser has. */
export function createOpenSession(parts: {
  readonly site: Site
  readonly sessions: Sessions
  readonly logger: Logger
}): OpenSession {
  const { site, sessions, logger } = parts
  return async (request, response, person) => {
    const session = await sessions.open({ ...site.callerOf(request), ...person })
    site.setCookie(request, response, session.id, person.lastsMs)
    logger.info({ action: 'sign in', ...sessionFields(session) }, 'console action')
    return session
  }
}
