import type { ErasureFact, ErasureRequested, ProjectRef, UserRef } from '@nextvisit/contracts'
import { fencedFromMs, keysUntilMsOf, projectKeyOf } from '@nextvisit/domain'
import type { Fences } from './fences.ts'
import { createSuppressions, type Suppressions, type SuppressionsPage } from './suppressions.ts'

/** The answer to a request for an erasure. */
export type RequestedErasure = Pick<ErasureRequested, 'id' | 'unknown' | 'received'> & { readonly users: number }

export interface ErasuresPageQuery extends ProjectRef {
  readonly limit: number
  /** `next` of the previous page. */
  readonly after?: string | undefined
}

/** The topic `erasures`, as far as writers of records need it. */
export interface Erasures extends Fences {
  readonly isSuppressed: (user: UserRef) => boolean
  /** Returns suppressions in the order of their requests. */
  readonly suppressionsOf: (query: ErasuresPageQuery) => SuppressionsPage
  /** Returns an erasure of the last day. */
  readonly requested: (project: ProjectRef, erasureId: string) => RequestedErasure | undefined
  /** Returns the number of suppressed users of a project, or of all projects. */
  readonly suppressedUsers: (project?: ProjectRef) => number
}

const DAY_MS = 24 * 3_600_000
/** Longer than a marker in Redis holds a copy of a key. */
const FENCES_KEPT_MS = 8 * DAY_MS
/** The oldest are forgotten first (decisions.md, Erasure: *Memory of gateways*). */
const MAX_FENCES = 1_000_000
/** An `Idempotency-Key` is remembered for a day. */
const REQUESTS_KEPT_MS = DAY_MS
const MAX_REQUESTS = 100_000
/** Requests whose later copies are dropped. */
const MAX_IDS = 1_000_000

interface Bounds {
  readonly maxFences?: number
  readonly maxIds?: number
}

/**
 * Creates the fold of `erasures`. Suppressions are exact; erasures and fences are those of the last days. A fence must be the one that
 * the user eraser computes, which folds each erasureId once. A copy that comes after a million other requests may repeat a suppression.
 */
export function createErasureFold({
  maxFences = MAX_FENCES,
  maxIds = MAX_IDS,
}: Bounds = {}): { readonly fold: (fact: ErasureFact, offset: bigint) => void } & Erasures {
  /** By project. */
  const suppressed = new Map<string, Suppressions>()
  let suppressedUsers = 0
  /** `keysUntil` by user, in the order of the log. Until it is past, the clock alone makes no key that is late enough. */
  const fences = new Map<string, number>()
  const listeners: ((userIds: readonly string[]) => void)[] = []
  const requests = new Map<string, RequestedErasure & { readonly projectKey: string; readonly atMs: number }>()
  /** In the order of the log. */
  const known = new Set<string>()

  function request(fact: ErasureRequested, offset: bigint): void {
    const { id, received, unknown, suppress } = fact
    // A repeated request changes nothing: the users may have returned since.
    if (known.has(id)) return
    known.add(id)
    forgetFirst(known, maxIds)
    const userIds = [...new Set(fact.userIds)]
    const receivedMs = Date.parse(received)
    const projectKey = projectKeyOf(fact)
    requests.set(id, { id, unknown, received, users: userIds.length, projectKey, atMs: receivedMs })
    for (const userId of userIds) {
      const keysUntilMs = keysUntilMsOf(fencedFromMs(fact), fences.get(userId))
      fences.delete(userId)
      fences.set(userId, keysUntilMs)
    }
    if (suppress) suppressUsers(fact, Number(offset))
    forgetOlder(requests, receivedMs - REQUESTS_KEPT_MS, ({ atMs }) => atMs)
    forgetFirst(requests, MAX_REQUESTS)
    forgetOlder(fences, receivedMs - FENCES_KEPT_MS, (keysUntilMs) => keysUntilMs)
    forgetFirst(fences, maxFences)
    for (const listener of listeners) listener(userIds)
  }

  function suppressUsers(fact: ErasureRequested, offset: number): void {
    const projectKey = projectKeyOf(fact)
    const users = suppressed.get(projectKey) ?? createSuppressions()
    suppressed.set(projectKey, users)
    const suppressing = { erasureId: fact.id, since: fact.received, offset }
    for (const [position, userId] of fact.userIds.entries())
      if (users.add(userId, suppressing, position)) suppressedUsers += 1
  }

  return {
    fold: (fact, offset) => {
      if (fact.type === 'ErasureRequested') request(fact, offset)
      if (fact.type === 'SuppressionLifted' && suppressed.get(projectKeyOf(fact))?.remove(fact.userId))
        suppressedUsers -= 1
    },
    isSuppressed: (user) => suppressedUsers > 0 && suppressed.get(projectKeyOf(user))?.has(user.userId) === true,
    keysUntilOf: (userId) => fences.get(userId),
    onErased: (listener) => void listeners.push(listener),
    suppressionsOf: ({ limit, after, ...project }) =>
      suppressed.get(projectKeyOf(project))?.page(limit, after) ?? { suppressions: [], next: null },
    requested: (project, erasureId) => {
      const found = requests.get(erasureId)
      return found?.projectKey === projectKeyOf(project) ? found : undefined
    },
    suppressedUsers: (project) => (project ? (suppressed.get(projectKeyOf(project))?.size() ?? 0) : suppressedUsers),
  }
}

/** Removes the first entries that are older than an instant. */
function forgetOlder<Entry>(entries: Map<string, Entry>, beforeMs: number, atMsOf: (entry: Entry) => number): void {
  for (const [key, entry] of entries) {
    if (atMsOf(entry) >= beforeMs) return
    entries.delete(key)
  }
}

/** Removes the first entries beyond `max`. */
function forgetFirst(entries: Map<string, unknown> | Set<string>, max: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= max) return
    entries.delete(key)
  }
}
