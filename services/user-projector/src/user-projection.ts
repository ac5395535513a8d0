import { createReviewedTicks, type Projection } from '@nextvisit/consumer'
import { type EventTracked, type IdentifyRequested, TOPICS, UserFact } from '@nextvisit/contracts'
import {
  countEvent,
  followChange,
  idempotentRecordOf,
  identified,
  mayChangeSegments,
  seen,
  touchesProfile,
  userKeyOf,
} from '@nextvisit/domain'
import { loadDraft } from './load-draft.ts'
import { saveDraft } from './save-draft.ts'
import { segmentTicks } from './segment-tick.ts'
import { type DraftUser, emptyDraft, type UserDraft } from './user-draft.ts'

export interface UserProjectionOptions {
  /** Called with how many increments met a trait that is not a number, for a metric. */
  readonly onSkippedIncrements?: (count: number) => void
  /** Called with how many operations were dropped because of a limit (decisions.md, Identify), for a metric. */
  readonly onDroppedOperations?: (count: number) => void
}

/**
 * Users with their traits, device facts and events, and the segments that they are in. All facts of a user share a
 * partition, so the partition's owner reads, folds and writes whole rows.
 */
export function createUserProjection(options: UserProjectionOptions = {}): Projection<UserFact, UserDraft> {
  return {
    name: 'user-projector',
    topics: [TOPICS.userEvents],
    schema: UserFact,
    idempotencyOf: idempotentRecordOf,
    empty: emptyDraft,
    load: loadDraft,

    evolve: (draft, { fact }) => {
      const user = draft.users.get(userKeyOf(fact))
      if (!user || fact.type === 'VisitAnswered') return draft
      const change =
        fact.type === 'IdentifyRequested' ? () => foldIdentify(draft, user, fact) : () => foldEvent(user, fact)
      if (mayChangeSegments(fact, user.segments)) followChange(user, fact.received, change)
      else change()
      return draft
    },

    save: saveDraft,

    after: async ({ skippedIncrements, droppedTraitOperations }) => {
      if (skippedIncrements > 0) options.onSkippedIncrements?.(skippedIncrements)
      if (droppedTraitOperations > 0) options.onDroppedOperations?.(droppedTraitOperations)
    },

    ...createReviewedTicks(segmentTicks),
  }
}

function foldIdentify(draft: UserDraft, user: DraftUser, fact: IdentifyRequested): void {
  const { user: profile, skippedIncrements, dropped } = identified(user.profile, fact)
  user.profile = profile
  user.isChanged = true
  draft.skippedIncrements += skippedIncrements
  draft.droppedTraitOperations += dropped
}

/** Events of users that nobody has identified yet are kept, too. Only an identify makes the user. */
function foldEvent(user: DraftUser, fact: EventTracked): void {
  if (user.profile && touchesProfile(fact)) {
    user.profile = seen(user.profile, fact)
    user.isChanged = true
  }
  for (const key of countEvent(user.events, fact)) user.changedCounts.add(key)
}
