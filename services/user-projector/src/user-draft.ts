import type { UserQuery } from '@nextvisit/contracts'
import type { EventHistory, SegmentIndex } from '@nextvisit/domain'
import type { FoldedUser } from './folded-user.ts'

/** What is kept of one event of one user, known or not. */
export interface FoldedEvent extends EventHistory {
  /** Least and greatest `occurredAt`, ISO. */
  readonly firstAt: string
  readonly lastAt: string
}

/** A project's segments as one revision of the catalog has them. */
export interface ProjectSegments {
  readonly index: SegmentIndex
  readonly revision: number
  /** Some users of the partition were computed with other definitions: each fact brings its user up to date. */
  readonly isMixed?: boolean
}

/** What a user's segments were computed with, and for when. Instants in ms. */
export interface SegmentClock {
  /** Of the index; empty: none. */
  readonly definitions: string
  /** Absent: never yet. */
  readonly asOf: number | undefined
  /** The next instant at which time alone may change them; absent: never. */
  readonly changesAt: number | undefined
}

/** A user as a batch finds and changes them. */
export interface DraftUser extends UserQuery {
  readonly partition: number
  /** As the catalog had them when the batch was loaded: it may move on before the batch is folded. */
  readonly segments: ProjectSegments
  /** Absent: nobody has identified them. */
  profile?: FoldedUser | undefined
  clock: SegmentClock
  /** By slug. */
  readonly events: Map<string, FoldedEvent>
  /** Since when they are in a segment, ms, by its id. */
  readonly memberships: Map<string, number>
  /** As the rows had it; no definitions: there was no row. */
  stored: { readonly definitions?: string; readonly memberships: ReadonlyMap<string, number> }
  /** What of it must be written. */
  isChanged: boolean
  readonly changedSlugs: Set<string>
}

/** What a batch makes of the users it touches, by {@link userKeyOf}. */
export interface UserDraft {
  readonly users: Map<string, DraftUser>
  skippedIncrements: number
}

export function emptyDraft(): UserDraft {
  return { users: new Map(), skippedIncrements: 0 }
}

/** Ids of organizations and projects hold no `/`. */
export function userKeyOf({ organization, project, userId }: UserQuery): string {
  return `${organization}/${project}/${userId}`
}

export function newUser(
  { organization, project, userId }: UserQuery,
  partition: number,
  segments: ProjectSegments,
): DraftUser {
  return {
    organization,
    project,
    userId,
    partition,
    segments,
    clock: { definitions: '', asOf: undefined, changesAt: undefined },
    events: new Map(),
    memberships: new Map(),
    stored: { memberships: new Map() },
    isChanged: false,
    changedSlugs: new Set(),
  }
}
