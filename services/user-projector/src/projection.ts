import { createReviewedTicks, type Projection, type ProjectionParts } from '@nextvisit/consumer'
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
import { Counter } from '@nextvisit/service-kit'
import { loadDraft } from './load-draft.ts'
import { saveDraft } from './save-draft.ts'
import { segmentTicks } from './ticks.ts'
import type { DraftUser, Draft } from './draft.ts'

/**
 * Creates the projection of users with their traits, device facts, events and segments. All facts of a user share a
 * partition, so the partition's owner reads, folds and writes whole rows.
 */
export function createProjection({ metrics }: Pick<ProjectionParts, 'metrics'>): Projection<UserFact, Draft> {
  const skipped = new Counter({
    name: 'skipped_increments_total',
    help: 'Increments of traits that are not numbers',
    registers: [metrics],
  })
  const dropped = new Counter({
    name: 'dropped_trait_operations_total',
    help: 'Trait operations and device facts that were dropped because the user has reached a limit',
    registers: [metrics],
  })
  return {
    name: 'user-projector',
    topic: TOPICS.userEvents,
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
      skipped.inc(skippedIncrements)
      dropped.inc(droppedTraitOperations)
    },

    ticks: createReviewedTicks(segmentTicks),
  }
}

/** Changes the user of a fact, and their segments if the change may matter to one. */
function foldUser({ users }: Draft, fact: RequestFact, change: (user: DraftUser) => void): void {
  const user = users.get(userKeyOf(fact))
  if (!user) return
  if (mayChangeSegments(fact, user.segments)) followChange(user, fact.received, () => change(user))
  else change(user)
}

function foldIdentify(draft: Draft, user: DraftUser, fact: IdentifyRequested): void {
  const { user: profile, skippedIncrements, dropped } = identifyUser(user.profile, fact)
  user.profile = profile
  user.isChanged = true
  draft.skippedIncrements += skippedIncrements
  draft.droppedTraitOperations += dropped
}

/** Counts an event, also of a user without an identify. Only an identify creates the user. */
function foldEvent(user: DraftUser, fact: EventTracked): void {
  if (user.profile && touchesProfile(fact)) {
    user.profile = withLastSeen(user.profile, fact)
    user.isChanged = true
  }
  for (const key of countEvent(user.events, fact)) user.changedCounts.add(key)
}
