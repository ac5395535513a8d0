import type { NamedUser, UserErased, UserRef } from '@nextvisit/contracts'
import { isFencedPlace } from '@nextvisit/domain'
import type { CallsOf } from '../services.ts'
import { shortText } from '../users/bounded-entry.ts'
import { fenceOfFact, fenceOfUser, type NamedFence } from '../users/open-records.ts'
import type { KeptEntry } from './live-entries.ts'

/** Names are asked for again after this time, so a consumed erasure takes effect within seconds. */
const KEPT_MS = 2_000
/** Maximum number of users in memory: as many as a buffer of Live has entries. */
const MAX_USERS = 4_000
/** A page waits for names no longer; entries without them are shown by userId. */
const WAIT_MS = 1_000

interface ShownUsersParts {
  readonly readUserNames: CallsOf<'user-projector'>['readUserNames']
  readonly nowMs: () => number
  /** For specs. Default: {@link MAX_USERS}. */
  readonly maxUsers?: number
}

/** Returns the name of an entry's user, and whether an erasure covers the entry. */
export type ShowUser = (kept: KeptEntry) => { readonly userName: string | null; readonly isErased: boolean }

export interface ShownUsers {
  /** Hides the user from now on, before the user projector has folded the erasure. */
  readonly erase: (erased: UserErased, offset: bigint) => void
  /** Reads the names of the entries' users: of all users in one call, and each at most once in {@link KEPT_MS}. */
  readonly of: (entries: readonly KeptEntry[], signal: AbortSignal) => Promise<ShowUser>
}

/** Names the users of Live's entries. Records contain userIds only. */
export function createShownUsers({ readUserNames, nowMs, maxUsers = MAX_USERS }: ShownUsersParts): ShownUsers {
  const named = createBoundedMap<{ readonly user: NamedUser; readonly readAtMs: number }>(maxUsers)
  const erased = createBoundedMap<NamedFence>(maxUsers)

  async function readMissing(users: readonly UserRef[], signal: AbortSignal): Promise<void> {
    if (users.length === 0) return
    const readAtMs = nowMs()
    const read = await readUserNames({ questions: [...users] }, AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)]))
    if (read.outcome === 'refused') return
    users.forEach((user, index) => {
      const answer = read.answer.answers[index]
      if (answer) named.set(nameOf(user), { user: withShortName(answer), readAtMs })
    })
  }

  return {
    erase: (fact, offset) => erased.set(nameOf(fact), fenceOfFact(fact, offset)),
    of: async (entries, signal) => {
      const users = new Map(entries.flatMap(({ entry }) => userOf(entry)).map((user) => [nameOf(user), user]))
      const since = nowMs() - KEPT_MS
      await readMissing(
        [...users].filter(([name]) => (named.get(name)?.readAtMs ?? -Infinity) < since).map(([, user]) => user),
        signal,
      )
      return ({ entry, record }) => {
        const [name] = userOf(entry).map(nameOf)
        if (name === undefined) return { userName: null, isErased: false }
        const user = named.get(name)?.user
        const own = erased.get(name)
        const folded = user?.fence && fenceOfUser(user.fence)
        // The name was read before the erasure.
        const isStale = own !== undefined && folded?.erasureId !== own.erasureId && (folded?.offset ?? -1n) < own.offset
        const fence = isStale ? own : folded
        const isErased = fence !== undefined && record !== undefined && isFencedPlace(record, fence)
        return { userName: isErased || isStale ? null : (user?.userName ?? null), isErased }
      }
    },
  }
}

/** A name may have a megabyte. */
function withShortName(user: NamedUser): NamedUser {
  return user.userName === null ? user : { ...user, userName: shortText(user.userName) }
}

function userOf({ organization, project, userId }: KeptEntry['entry']): readonly UserRef[] {
  return userId === null ? [] : [{ organization, project, userId }]
}

function nameOf({ organization, project, userId }: UserRef): string {
  return `${organization}/${project}/${userId}`
}

/** Creates a map that drops the entry that was set first when it is full. */
function createBoundedMap<Value>(max: number) {
  const values = new Map<string, Value>()
  return {
    get: (name: string) => values.get(name),
    set: (name: string, value: Value): void => {
      values.delete(name)
      values.set(name, value)
      const [oldest] = values.keys()
      if (values.size > max && oldest !== undefined) values.delete(oldest)
    },
  }
}
