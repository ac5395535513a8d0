import type { CatalogKey } from '@nextvisit/catalog'
import {
  BODY_LIMITS,
  firstCharacters,
  isLongerThan,
  isStorable,
  type KeptRefusal,
  type RouteSignature,
} from '@nextvisit/contracts'
import { checkUserName, eventSlug, memberIn, userIdOf, userNameOfUserId, redactMessage } from '@nextvisit/domain'
import { createOutageLog, type Logger, messageOf, type RefusalStore } from '@nextvisit/service-kit'
import type { Refusal } from './refusals.ts'
import { createGatheredRefusals } from './gathered-refusals.ts'
import { createOrderedIds } from './ordered-ids.ts'

/** A refused request, or a refused item of a batch, as far as it was read. */
interface RefusedRequest {
  readonly route: RouteSignature
  /** Equal to `X-Request-Id`. */
  readonly requestId: string
  /** Absent if the project is unknown. */
  readonly key?: CatalogKey
  /** Body of the request or the item. */
  readonly body?: unknown
  /** Position of the item. */
  readonly item?: number
}

interface KeptRefusalsOptions {
  readonly store: Pick<RefusalStore, 'add'>
  /** Called for each refusal, with or without a project. */
  readonly onRefused: (reason: string) => void
  /** Called with the number of refusals that Redis neither keeps nor counts. */
  readonly onDropped: (because: 'redis' | 'projects', count: number) => void
  readonly logger: Logger
}

const FLUSH_AFTER_MS = 1_000
/** Longer names of keys are cut, since kept refusals are bounded in bytes. */
const MAX_KEY_NAME_LENGTH = 100

/**
 * Keeps refusals (decisions.md, Refusals): gathers them, and writes them to Redis once a second. No answer waits for
 * it.
 */
export function createKeptRefusals({ store, onRefused, onDropped, logger }: KeptRefusalsOptions) {
  const gathered = createGatheredRefusals()
  const createId = createOrderedIds()
  let flushed = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  const unkept = createOutageLog(logger, {
    began: 'Cannot keep refusals: Redis is unavailable or slow',
    ended: 'Refusals are kept again',
  })

  async function write(): Promise<void> {
    const taken = gathered.take()
    if (taken.length === 0) return
    try {
      await store.add(taken, Date.now())
      unkept.end()
    } catch (error) {
      const because = messageOf(error)
      const counts = taken.flatMap((project) => [...project.counts.values()])
      onDropped(
        'redis',
        counts.reduce((sum, count) => sum + count, 0),
      )
      unkept.begin({ because })
    }
  }

  /** Writes, one flush at a time. Never rejects. */
  function flush(): Promise<void> {
    timer = undefined
    flushed = flushed.then(write)
    return flushed
  }

  /** Counts a refusal, and gathers it if its project is known. */
  function note(refused: RefusedRequest, refusal: Refusal): void {
    const { reason } = refusal
    if (reason === undefined) return
    onRefused(reason)
    const { route, key } = refused
    // A refused read loses no data.
    if (!key || route.method === 'GET') return
    const outcome = gathered.add(key.project, reason, () => ({
      id: createId(),
      ...describeRefusal(refused, key, reason, refusal),
    }))
    if (outcome === 'dropped') onDropped('projects', 1)
    timer ??= setTimeout(() => void flush(), FLUSH_AFTER_MS)
  }

  return {
    note,
    /** Writes the gathered refusals. */
    stop: () => {
      clearTimeout(timer)
      return flush()
    },
  }
}

/** Returns a refusal without userName, values and other words of the caller (decisions.md, Refusals). */
function describeRefusal(
  { route, requestId, body, item }: RefusedRequest,
  { entry, project }: CatalogKey,
  reason: string,
  refusal: Refusal,
): Omit<KeptRefusal, 'id'> {
  const names = route.keyIn ? { user: 'userId', event: 'event' } : { user: 'userName', event: 'eventName' }
  // A suppressed person leaves no trace, and a userId is a hash of the name.
  const userName = reason === 'suppressed' ? undefined : userNameOf(memberIn(body, names.user))
  const event = declaredEvent(project, memberIn(body, names.event))
  return {
    at: new Date().toISOString(),
    reason,
    status: refusal.status,
    message: redactMessage(refusal),
    route: route.pattern,
    requestId,
    ...(item !== undefined && { item }),
    key: {
      name: firstCharacters(entry.name, MAX_KEY_NAME_LENGTH),
      kind: entry.kind,
      environment: entry.environment,
    },
    ...(userName !== undefined && { userId: userIdOf(project.organization, project.project, userName) }),
    ...(event !== undefined && { event }),
  }
}

/**
 * Returns the userName of a body, if a user can have it. Items are not checked yet, so it may contain lone surrogates.
 */
function userNameOf(given: unknown): string | undefined {
  const userName = userNameOfUserId(given)
  return typeof userName === 'string' && !checkUserName(userName) && isStorable(userName) ? userName : undefined
}

/** Returns the slug of an event that the workspace file declares. Any other name could be a value. */
function declaredEvent({ declaredEvents, disabledEvents }: CatalogKey['project'], name: unknown): string | undefined {
  const isName = typeof name === 'string' && !isLongerThan(name, BODY_LIMITS.eventNameLength)
  const slug = isName ? eventSlug(name) : undefined
  return slug !== undefined && (declaredEvents.has(slug) || disabledEvents.has(slug)) ? slug : undefined
}
