/** A user whose records are refused. */
export interface Suppression {
  readonly userId: string
  /** The time of the request that suppressed the user. */
  readonly since: string
  readonly erasureId: string
}

/** A request that suppresses users. One object for all of its users. */
export interface SuppressingRequest {
  readonly erasureId: string
  readonly since: string
  readonly offset: number
}

/** Orders the suppressions of a project: the offset of the request, and the position of the user in it. */
export interface Place {
  readonly offset: number
  readonly position: number
}

interface Entry {
  readonly userId: string
  readonly request: SuppressingRequest
  readonly position: number
}

export interface SuppressionsPage {
  readonly suppressions: readonly Suppression[]
  readonly next: string | null
}

export type Suppressions = ReturnType<typeof createSuppressions>

const PLACE = /^(\d{1,16})-(\d{1,4})$/

/** Returns true for the `next` of a page of suppressions. */
export function isSuppressionPlace(text: string): boolean {
  return PLACE.test(text)
}

/** Creates the suppressions of a project, in the order of the log. One takes 150 bytes, or 300 if it has a request of its own. */
export function createSuppressions() {
  const users = new Map<string, Entry>()
  const ordered: Entry[] = []
  return {
    has: (userId: string): boolean => users.has(userId),
    size: (): number => users.size,
    /** Adds a user behind all others, and returns true; false if the user is suppressed. */
    add: (userId: string, request: SuppressingRequest, position: number): boolean => {
      if (users.has(userId)) return false
      const entry = { userId, request, position }
      users.set(userId, entry)
      ordered.push(entry)
      return true
    },
    /** Removes a user, and returns true; false if the user is not suppressed. */
    remove: (userId: string): boolean => {
      const entry = users.get(userId)
      if (!entry) return false
      users.delete(userId)
      ordered.splice(firstAfter(ordered, placeOf(entry)) - 1, 1)
      return true
    },
    page: (limit: number, after: string | undefined): SuppressionsPage => {
      const from = after === undefined ? 0 : firstAfter(ordered, parsePlace(after))
      const entries = ordered.slice(from, from + limit)
      const last = entries.at(-1)
      return {
        suppressions: entries.map(({ userId, request: { since, erasureId } }) => ({ userId, since, erasureId })),
        next: last && from + limit < ordered.length ? `${last.request.offset}-${last.position}` : null,
      }
    },
  }
}

/** Returns the index of the first entry behind a place, by binary search: any key with `mayErase` chooses the place. */
export function firstAfter(ordered: readonly Pick<Entry, 'request' | 'position'>[], place: Place): number {
  let [low, high] = [0, ordered.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const entry = ordered[middle]
    if (entry && comparePlaces(placeOf(entry), place) <= 0) low = middle + 1
    else high = middle
  }
  return low
}

function placeOf({ request: { offset }, position }: Pick<Entry, 'request' | 'position'>): Place {
  return { offset, position }
}

function parsePlace(text: string): Place {
  const [, offset = '', position = ''] = PLACE.exec(text) ?? []
  return { offset: Number(offset), position: Number(position) }
}

function comparePlaces(one: Place, other: Place): number {
  return one.offset - other.offset || one.position - other.position
}
