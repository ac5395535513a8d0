import { randomUUIDv7 } from 'node:crypto'
import type { CatalogKey } from '@nextvisit/catalog'
import { isStorable, type KeptRefusal, type RouteSignature } from '@nextvisit/contracts'
import { checkUserName, eventSlug, memberIn, userIdOf, userNameOfUserId, withoutCallersWords } from '@nextvisit/domain'
import type { Logger, RefusalStore } from '@nextvisit/service-kit'
import type { Refusal } from '../api/refusals.ts'
import { createGatheredRefusals } from './gathered-refusals.ts'

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

interface KeptRefusalsOptions {
  readonly store: Pick<RefusalStore, 'add'>
  /** Called for each refusal, also for one without a project. */
  readonly onRefused: (reason: string) => void
  /** Called with how many were neither kept nor counted in Redis. */
  readonly onDropped: (because: 'redis' | 'projects', count: number) => void
  readonly logger: Logger
}

export type NoteRefusal = (refused: RefusedRequest, refusal: Refusal) => void

const FLUSH_AFTER_MS = 1_000
/** Longer names of keys are cut: what is kept is bounded in bytes. */
const MAX_KEY_NAME_LENGTH = 100

/**
 * Keeps what was refused (decisions.md, Refusals): gathers it, and writes it to Redis once a second. No answer waits for
 * this, and without refusals it does nothing.
 */
export function createKeptRefusals({ store, onRefused, onDropped, logger }: KeptRefusalsOptions) {
  const gathered = createGatheredRefusals()
  let flushed = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  let isFailing = false

  async function write(): Promise<void> {
    const taken = gathered.take()
    if (taken.length === 0) return
    try {
      await store.add(taken, Date.now())
      isFailing = false
    } catch (error) {
      // Not the error itself: it holds the whole command.
      const because = error instanceof Error ? error.message : 'unknown'
      const counts = taken.flatMap((project) => [...project.counts.values()])
      onDropped(
        'redis',
        counts.reduce((sum, count) => sum + count, 0),
      )
      if (!isFailing) logger.warn({ because }, 'Refusals cannot be kept: Redis is unavailable or slow')
      isFailing = true
    }
  }

  /** One write at a time. Never rejects. */
  function flush(): Promise<void> {
    timer = undefined
    flushed = flushed.then(write)
    return flushed
  }

  const note: NoteRefusal = (refused, refusal) => {
    const { rule } = refusal
    if (rule === undefined) return
    onRefused(rule)
    const { route, key } = refused
    // A read that is refused loses nothing.
    if (!key || route.method === 'GET') return
    const outcome = gathered.add(key.project, rule, () => describeRefusal(refused, key, rule, refusal))
    if (outcome === 'dropped') onDropped('projects', 1)
    timer ??= setTimeout(() => void flush(), FLUSH_AFTER_MS)
  }

  return {
    note,
    /** Writes what was gathered. */
    stop: () => {
      clearTimeout(timer)
      return flush()
    },
  }
}

/** What is kept of a refusal: no userName, no value and no other word of the caller (decisions.md, Refusals). */
function describeRefusal(
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
