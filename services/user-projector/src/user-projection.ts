import { createReviewedTicks, type Projection } from '@nextvisit/consumer'
import { type EventTracked, type IdentifyRequested, type RequestFact, TOPICS, UserFact } from '@nextvisit/contracts'
import {
  countEvent,
  followChange,
  idempotentRecordOf,
  identifyUser,
  mayChangeSegments,
  withLastSeen,
  touchesProfile,
  userKeyOf,
} from '@nextvisit/domain'
import { loadDraft } from './load-draft.ts'
import { saveDraft } from './save-draft.ts'
import { segmentTicks } from './segment-tick.ts'
import type { ProjectedUser, UserDraft } from './user-draft.ts'

interface UserProjectionOptions {
  /** Called with the number of increments of traits that are not numbers, for a metric. */
  readonly onSkippedIncrements?: (count: number) => void
  /** Called with the number of operations that were dropped because of a limit (decisions.md, Identify), for a metric. */
  readonly onDroppedOperations?: (count: number) => void
}

/**
 * Creates the projection of users with their traits, device facts, events and segments. All facts of a user share a
 * partition, so the partition's owner reads, folds and writes whole rows.
 */
export function createUserProjection(options: UserProjectionOptions = {}): Projection<UserFact, UserDraft> {
  return {
    name: 'user-projector',
    topics: [TOPICS.userEvents],
    schema: UserFact,
    idempotencyOf: idempotentRecordOf,
    load: loadDraft,
    evolve: {
      IdentifyRequested: (draft, { fact }) => foldUser(draft, fact, (user) => foldIdentify(draft, user, fact)),
      EventTracked: (draft, { fact }) => foldUser(draft, fact, (user) => foldEvent(user, fact)),
      VisitAnswered: 'ignored',
    },
    save: (draft) => ({ statements: saveDraft(draft) }),

    afterCommit: async (_db, { skippedIncrements, droppedTraitOperations }) => {
      if (skippedIncrements > 0) options.onSkippedIncrements?.(skippedIncrements)
      if (droppedTraitOperations > 0) options.onDroppedOperations?.(droppedTraitOperations)
    },

    ticks: createReviewedTicks(segmentTicks),
  }
}

/** Changes the user of a fact, and their segments if the change may matter to one. */
function foldUser({ users }: UserDraft, fact: RequestFact, change: (user: ProjectedUser) => void): void {
  const user = users.get(userKeyOf(fact))
  if (!user) return
  if (mayChangeSegments(fact, user.segments)) followChange(user, fact.received, () => change(user))
  else change(user)
}

function foldIdentify(draft: UserDraft, user: ProjectedUser, fact: IdentifyRequested): void {
  const { user: profile, skippedIncrements, dropped } = identifyUser(user.profile, fact)
  user.profile = profile
  user.isChanged = true
  draft.skippedIncrements += skippedIncrements
  draft.droppedTraitOperations += dropped
}

/** Counts an event, also of a user without an identify. Only an identify creates the user. */
function foldEvent(user: ProjectedUser, fact: EventTracked): void {
  if (user.profile && touchesProfile(fact)) {
    user.profile = withLastSeen(user.profile, fact)
    user.isChanged = true
  }
  for (const key of countEvent(user.events, fact)) user.changedCounts.add(key)
}
