import {
  createReviewedTicks,
  erasedUserOf,
  type FoldContext,
  formFactRows,
  type Projection,
  type ProjectionParts,
  type Recorded,
} from '@nextvisit/consumer'
import {
  type ActivityFact,
  type AnswerGiven,
  type EventTracked,
  type IdentifyRequested,
  TOPICS,
  UserFact,
} from '@nextvisit/contracts'
import {
  applyAnswer,
  applyEvent,
  applyIdentify,
  changeAndRecomputeSegments,
  countKeysOf,
  idempotentRecordOf,
  userKeyOf,
} from '@nextvisit/domain'
import { Counter } from '@nextvisit/service-kit'
import { loadDraft } from './load-draft.ts'
import { saveDraft } from './save-draft.ts'
import { publishChanges } from './segment-changes.ts'
import { segmentTicks } from './ticks.ts'
import type { Draft, DraftUser } from './draft.ts'

/**
 * Creates the projection of users with their traits, device facts, events and segments. All facts of a user share a
 * partition, so the partition's owner reads, folds and writes whole rows. Publishes changed memberships; a rebuild publishes nothing.
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
    opens: ({ type }) => type === 'IdentifyRequested' || type === 'AnswerGiven',
    idempotencyOf: idempotentRecordOf,
    load: loadDraft,
    evolve: {
      IdentifyRequested: evolveIdentify,
      EventTracked: evolveEvent,
      AnswerGiven: evolveAnswer,
      VisitAnswered: 'ignored',
      UserErased: ({ erased }, record) => void erased.push(erasedUserOf(record)),
    },
    save: (draft) => ({ statements: saveDraft(draft), outbox: formFactRows('user-projector', draft.changes) }),

    afterCommit: async (_db, { skippedOperations, droppedOperations }) => {
      skipped.inc(skippedOperations)
      dropped.inc(droppedOperations)
    },

    ticks: createReviewedTicks(segmentTicks),
  }
}

function evolveIdentify(draft: Draft, record: Recorded<IdentifyRequested>, context: FoldContext): void {
  const { fact } = record
  changeUser(draft, record, context, (user) => {
    const change = applyIdentify(user, fact)
    user.userName = fact.userName
    user.droppedTraitOperations += change.dropped.length
    user.isChanged = true
    draft.skippedOperations += change.skipped.length
    draft.droppedOperations += change.dropped.length
  })
}

/** Folds an event, also of a user without an identify. Only an identify creates the user. */
function evolveEvent(draft: Draft, record: Recorded<EventTracked>, context: FoldContext): void {
  const { fact } = record
  changeUser(draft, record, context, (user) => {
    applyEvent(user, fact)
    user.isChanged ||= fact.source === 'sdk'
    for (const key of countKeysOf(fact)) user.changedCounts.add(key)
  })
}

/** Folds an answer, also of a user without an identify. */
function evolveAnswer(draft: Draft, record: Recorded<AnswerGiven>, context: FoldContext): void {
  changeUser(draft, record, context, (user) => {
    user.answers = applyAnswer(user.answers, record.fact)
  })
}

/** Changes the user of a record, and publishes the memberships that this changes. */
function changeUser(
  draft: Draft,
  { fact, offset, traceparent }: Recorded<ActivityFact | AnswerGiven>,
  context: FoldContext,
  change: (user: DraftUser) => void,
): void {
  const user = loadedUser(draft, fact)
  const changes = changeAndRecomputeSegments(user, fact, () => change(user))
  publishChanges(draft, user, { changes, causeOffset: offset, record: fact, traceparent }, context)
}

/** Returns the user of a fact. Throws if `load` has missed it: without an error, the fact would be lost. */
function loadedUser({ users }: Draft, fact: ActivityFact | AnswerGiven): DraftUser {
  const user = users.get(userKeyOf(fact))
  if (!user) throw new Error(`The user of the ${fact.type} ${fact.id} was not loaded`)
  return user
}
