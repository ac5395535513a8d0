import { type EventTracked, type IdentifyRequested, TOPICS, UserFact, type UserQuery } from '@nextvisit/contracts'
import { keyedRecordOf } from '@nextvisit/domain'
import type { Projection } from '@nextvisit/projection'
import { earlier, type FoldedUser, identified, imported, later, seen } from './folded-user.ts'
import { addEventCounts, type EventCount, readUsers, upsertUsers } from './user-rows.ts'

/** What a batch makes of the users it touches. Keys: {@link keyOf}; of events, with the slug behind it. */
export interface UserDraft {
  readonly users: Map<string, FoldedUser>
  readonly changed: Set<string>
  readonly events: Map<string, EventCount>
  skippedIncrements: number
}

export interface UserProjectionOptions {
  /** Told of increments that met a trait which is not a number, for a metric. */
  readonly onSkippedIncrements?: (count: number) => void
}

/**
 * Users with their traits, device facts and event counts. All facts of a user share a partition, so its owner reads,
 * folds and writes whole rows.
 */
export function createUserProjection(options: UserProjectionOptions = {}): Projection<UserFact, UserDraft> {
  return {
    name: 'user-projector',
    topics: [TOPICS.userEvents],
    schema: UserFact,
    keyed: keyedRecordOf,
    empty: () => draftOf([]),

    load: async (db, batch) => {
      const touched = new Map(batch.filter(({ fact }) => touchesUser(fact)).map(({ fact }) => [keyOf(fact), fact]))
      return draftOf(await readUsers(db, [...touched.values()]))
    },

    evolve: (draft, { fact }) => {
      if (fact.type === 'IdentifyRequested') foldIdentify(draft, fact)
      if (fact.type === 'EventTracked') foldEvent(draft, fact)
      return draft
    },

    save: ({ users, changed, events }) => {
      const changedUsers = [...users].filter(([key]) => changed.has(key)).map(([, user]) => user)
      return [
        ...(changedUsers.length > 0 ? [upsertUsers(changedUsers)] : []),
        ...(events.size > 0 ? [addEventCounts([...events.values()])] : []),
      ]
    },

    after: async ({ skippedIncrements }) => {
      if (skippedIncrements > 0) options.onSkippedIncrements?.(skippedIncrements)
    },
  }
}

function draftOf(known: readonly FoldedUser[]): UserDraft {
  return {
    users: new Map(known.map((user) => [keyOf(user), user])),
    changed: new Set(),
    events: new Map(),
    skippedIncrements: 0,
  }
}

function keyOf({ organization, project, userId }: UserQuery): string {
  return `${organization}/${project}/${userId}`
}

function touchesUser(fact: UserFact): boolean {
  return fact.type === 'IdentifyRequested' || (fact.type === 'EventTracked' && fact.source === 'sdk')
}

function foldIdentify(draft: UserDraft, fact: IdentifyRequested): void {
  const key = keyOf(fact)
  const next = fact.imported ? imported : identified
  const { user, skippedIncrements } = next(draft.users.get(key), fact)
  draft.users.set(key, user)
  draft.changed.add(key)
  draft.skippedIncrements += skippedIncrements
}

/** Counts are kept of users nobody has identified yet, too; a user appears only by an identify. */
function foldEvent(draft: UserDraft, fact: EventTracked): void {
  const { organization, project, userId, slug, occurredAt } = fact
  const userKey = keyOf(fact)
  const user = draft.users.get(userKey)
  if (user && touchesUser(fact)) {
    draft.users.set(userKey, seen(user, fact))
    draft.changed.add(userKey)
  }
  const key = `${userKey}/${slug}`
  const before = draft.events.get(key)
  draft.events.set(key, {
    organization,
    project,
    userId,
    slug,
    count: (before?.count ?? 0) + 1,
    firstAt: earlier(before?.firstAt, occurredAt),
    lastAt: later(before?.lastAt, occurredAt),
  })
}
