import { randomUUIDv7 } from 'node:crypto'
import type { CatalogKey } from '@nextvisit/catalog'
import { isStorable, type KeptRefusal, type RouteSignature } from '@nextvisit/contracts'
import { checkUserName, eventSlug, memberIn, userIdOf, userNameOfUserId, withoutCallersWords } from '@nextvisit/domain'
import type { Refusal } from '../api/refusals.ts'

/** A request, or an item of one, as far as it was read when it was refused. */
export interface RefusedRequest {
  readonly route: RouteSignature
  /** As `X-Request-Id` has it. */
  readonly requestId: string
  /** Absent where no project is known. */
  readonly key?: CatalogKey
  /** Of the request or the item. */
  readonly body?: unknown
  /** The position of the item. */
  readonly item?: number
}

/** Longer names of keys are cut: what is kept is bounded in bytes. */
const MAX_KEY_NAME_LENGTH = 100

/** What is kept of a refusal: no userName, no value and no other word of the caller (decisions.md, Refusals). */
export function describeRefusal(
  { route, requestId, body, item }: RefusedRequest,
  { entry, project }: CatalogKey,
  reason: string,
  refusal: Refusal,
): KeptRefusal {
  const names = route.keyIn ? { user: 'userId', event: 'event' } : { user: 'userName', event: 'eventName' }
  const userName = userNameOf(memberIn(body, names.user))
  const event = declaredEvent(project, memberIn(body, names.event))
  return {
    id: randomUUIDv7(),
    at: new Date().toISOString(),
    reason,
    status: refusal.status,
    message: withoutCallersWords(refusal),
    route: route.pattern,
    requestId,
    ...(item !== undefined && { item }),
    key: { name: entry.name.slice(0, MAX_KEY_NAME_LENGTH), kind: entry.kind, environment: entry.environment },
    ...(userName !== undefined && { userId: userIdOf(project.organization, project.project, userName) }),
    ...(event !== undefined && { event }),
  }
}

/** An item may have a userName that no user can have, and no id can be made of: a lone surrogate is checked item by item. */
function userNameOf(given: unknown): string | undefined {
  const userName = userNameOfUserId(given)
  return typeof userName === 'string' && !checkUserName(userName) && isStorable(userName) ? userName : undefined
}

/** Only an event that the workspace file names: any other name could be a value. */
function declaredEvent({ declaredEvents, disabledEvents }: CatalogKey['project'], name: unknown): string | undefined {
  const slug = typeof name === 'string' && name.length <= 100 ? eventSlug(name) : undefined
  return slug !== undefined && (declaredEvents.has(slug) || disabledEvents.has(slug)) ? slug : undefined
}
