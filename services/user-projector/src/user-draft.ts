import type { UserQuery } from '@nextvisit/contracts'
import type { EventHistory } from '@nextvisit/domain'
import type { FoldedUser } from './folded-user.ts'
import type { ProjectSegments } from './project-segments.ts'

/** What is kept of one event of one user, identified or not. */
export interface FoldedEvent extends EventHistory {
  /** Least and greatest `occurredAt`, ISO. */
  readonly firstAt: string
  readonly lastAt: string
}

/** What a user's segments were computed with, and for when. Instants in ms. */
export interface SegmentClock {
  /** Of the project's segments; empty: none. */
  readonly fingerprint: string
  /** Absent: not computed yet. */
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
  /** By what is counted: see `countKeyOf`. */
  readonly events: Map<string, FoldedEvent>
  /** Since when they are in a segment, ms, by its id. */
  readonly memberships: Map<string, number>
  /** As the rows had it; without a fingerprint there was no row. */
  stored: {
    readonly fingerprint?: string
    readonly memberships: ReadonlyMap<string, number>
    readonly traits?: FoldedUser['traits']
  }
  /** What of it must be written. */
  isChanged: boolean
  readonly changedCounts: Set<string>
}

/** What a batch makes of the users it touches, by {@link userKeyOf}. */
export interface UserDraft {
  readonly users: Map<string, DraftUser>
  skippedIncrements: number
  /** Operations that were dropped because of a limit. */
  droppedTraitOperations: number
}

export function emptyDraft(): UserDraft {
  return { users: new Map(), skippedIncrements: 0, droppedTraitOperations: 0 }
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
    clock: { fingerprint: '', asOf: undefined, changesAt: undefined },
    events: new Map(),
    memberships: new Map(),
    stored: { memberships: new Map() },
    isChanged: false,
    changedCounts: new Set(),
  }
}
