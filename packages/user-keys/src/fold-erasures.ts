import type { ErasureFact, ErasureRequested, ProjectRef, UserRef } from '@nextvisit/contracts'
import { fencedFromMs, keysUntilMsOf, projectKeyOf } from '@nextvisit/domain'
import type { Fences } from './fences.ts'

/** A user whose records are refused. */
export interface Suppression {
  readonly userId: string
  /** The time of the request that suppressed the user. */
  readonly since: string
  readonly erasureId: string
  /** Orders the suppressions of a project: the offset of the request, and the position of the user in it. */
  readonly place: string
}

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
  readonly suppressionsOf: (query: ErasuresPageQuery) => {
    readonly suppressions: readonly Suppression[]
    readonly next: string | null
  }
  /** Returns an erasure of the last day. */
  readonly requested: (project: ProjectRef, erasureId: string) => RequestedErasure | undefined
  readonly suppressedUsers: () => number
}

const DAY_MS = 24 * 3_600_000
/** Longer than a marker in Redis holds a copy of a key. */
const FENCES_KEPT_MS = 8 * DAY_MS
/** The oldest are forgotten first. About 30 MB. */
const MAX_FENCES = 200_000
/** An `Idempotency-Key` is remembered for a day. */
const REQUESTS_KEPT_MS = DAY_MS
const MAX_REQUESTS = 100_000

const PLACE = /^(\d{1,16})-(\d{1,4})$/

/** Returns true for the `next` of a page of suppressions. */
export function isSuppressionPlace(text: string): boolean {
  return PLACE.test(text)
}

/** Creates the fold of `erasures`. Suppressions are exact; erasures and fences are those of the last days. */
export function createErasureFold(): { readonly fold: (fact: ErasureFact, offset: bigint) => void } & Erasures {
  /** By project, in the order of the log. */
  const suppressed = new Map<string, Map<string, Suppression>>()
  let suppressedUsers = 0
  /** In the order of the log. */
  const fences = new Map<string, { readonly keysUntilMs: number; readonly atMs: number }>()
  const listeners: ((userIds: readonly string[]) => void)[] = []
  const requests = new Map<string, RequestedErasure & { readonly projectKey: string; readonly atMs: number }>()

  function request(fact: ErasureRequested, offset: bigint): void {
    const { id, received, userIds, unknown, suppress } = fact
    const projectKey = projectKeyOf(fact)
    // A repeated request changes nothing: the users may have returned since.
    if (requests.get(id)?.projectKey === projectKey) return
    const receivedMs = Date.parse(received)
    requests.set(id, { id, unknown, received, users: userIds.length, projectKey, atMs: receivedMs })
    for (const [position, userId] of userIds.entries()) {
      const keysUntilMs = keysUntilMsOf(fencedFromMs(fact), fences.get(userId)?.keysUntilMs)
      fences.delete(userId)
      // Until it is past, the clock alone makes no key that is late enough.
      fences.set(userId, { keysUntilMs, atMs: keysUntilMs })
      if (suppress) add(projectKey, { userId, since: received, erasureId: id, place: `${offset}-${position}` })
    }
    forget(requests, receivedMs - REQUESTS_KEPT_MS, MAX_REQUESTS)
    forget(fences, receivedMs - FENCES_KEPT_MS, MAX_FENCES)
    for (const listener of listeners) listener(userIds)
  }

  function add(projectKey: string, suppression: Suppression): void {
    const users = suppressed.get(projectKey) ?? new Map<string, Suppression>()
    suppressed.set(projectKey, users)
    if (users.has(suppression.userId)) return
    users.set(suppression.userId, suppression)
    suppressedUsers += 1
  }

  return {
    fold: (fact, offset) => {
      if (fact.type === 'ErasureRequested') request(fact, offset)
      if (fact.type === 'SuppressionLifted' && suppressed.get(projectKeyOf(fact))?.delete(fact.userId))
        suppressedUsers -= 1
    },
    isSuppressed: (user) => suppressedUsers > 0 && suppressed.get(projectKeyOf(user))?.has(user.userId) === true,
    keysUntilOf: (userId) => fences.get(userId)?.keysUntilMs,
    onErased: (listener) => void listeners.push(listener),
    suppressionsOf: ({ limit, after, ...project }) => {
      const page: Suppression[] = []
      for (const suppression of suppressed.get(projectKeyOf(project))?.values() ?? []) {
        if (after !== undefined && comparePlaces(suppression.place, after) <= 0) continue
        if (page.length === limit) return { suppressions: page, next: page.at(-1)?.place ?? null }
        page.push(suppression)
      }
      return { suppressions: page, next: null }
    },
    requested: (project, erasureId) => {
      const found = requests.get(erasureId)
      return found?.projectKey === projectKeyOf(project) ? found : undefined
    },
    suppressedUsers: () => suppressedUsers,
  }
}

/** Removes the first entries that are older than an instant, or more than `max`. */
function forget(entries: Map<string, { readonly atMs: number }>, beforeMs: number, max: number): void {
  for (const [key, { atMs }] of entries) {
    if (atMs >= beforeMs && entries.size <= max) return
    entries.delete(key)
  }
}

function comparePlaces(one: string, other: string): number {
  const [, offset = '', position = ''] = PLACE.exec(one) ?? []
  const [, otherOffset = '', otherPosition = ''] = PLACE.exec(other) ?? []
  return Number(offset) - Number(otherOffset) || Number(position) - Number(otherPosition)
}
