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
/** The oldest are forgotten first. About 30 MB. */
const MAX_FENCES = 200_000
/** An `Idempotency-Key` is remembered for a day. */
const REQUESTS_KEPT_MS = DAY_MS
const MAX_REQUESTS = 100_000

/**
 * Creates the fold of `erasures`. Suppressions are exact; erasures and fences are those of the last days. A fence must be the one that
 * the user eraser computes, which folds each erasureId once, however late its second copy comes. An id takes 80 bytes, forever.
 */
export function createErasureFold(): { readonly fold: (fact: ErasureFact, offset: bigint) => void } & Erasures {
  /** By project. */
  const suppressed = new Map<string, Suppressions>()
  let suppressedUsers = 0
  /** In the order of the log. */
  const fences = new Map<string, { readonly keysUntilMs: number; readonly atMs: number }>()
  const listeners: ((userIds: readonly string[]) => void)[] = []
  const requests = new Map<string, RequestedErasure & { readonly projectKey: string; readonly atMs: number }>()
  const known = new Set<string>()

  function request(fact: ErasureRequested, offset: bigint): void {
    const { id, received, unknown, suppress } = fact
    // A repeated request changes nothing: the users may have returned since.
    if (known.has(id)) return
    known.add(id)
    const userIds = [...new Set(fact.userIds)]
    const receivedMs = Date.parse(received)
    const projectKey = projectKeyOf(fact)
    requests.set(id, { id, unknown, received, users: userIds.length, projectKey, atMs: receivedMs })
    for (const userId of userIds) {
      const keysUntilMs = keysUntilMsOf(fencedFromMs(fact), fences.get(userId)?.keysUntilMs)
      fences.delete(userId)
      // Until it is past, the clock alone makes no key that is late enough.
      fences.set(userId, { keysUntilMs, atMs: keysUntilMs })
    }
    if (suppress) suppressUsers(fact, Number(offset))
    forget(requests, receivedMs - REQUESTS_KEPT_MS, MAX_REQUESTS)
    forget(fences, receivedMs - FENCES_KEPT_MS, MAX_FENCES)
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
    keysUntilOf: (userId) => fences.get(userId)?.keysUntilMs,
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

/** Removes the first entries that are older than an instant, or more than `max`. */
function forget(entries: Map<string, { readonly atMs: number }>, beforeMs: number, max: number): void {
  for (const [key, { atMs }] of entries) {
    if (atMs >= beforeMs && entries.size <= max) return
    entries.delete(key)
  }
}
