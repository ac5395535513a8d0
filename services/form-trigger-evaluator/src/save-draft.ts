import { isoOf, type Sql } from '@nextvisit/database'
import { formatChangedTraits } from '@nextvisit/domain'
import type { DecisionRow, DraftUser, Draft } from './draft.ts'
import { keepOutcomes } from './idempotent-outcomes.ts'
import { writeQueues } from './queue-rows.ts'
import { decisions, eventOccurrences, users } from './tables.ts'

/** Returns statements for the rows that a batch has changed: one for each table, however many rows. */
export function saveDraft(draft: Draft): readonly Sql[] {
  const all = [...draft.users.values()]
  const changed = all.filter(({ isChanged }) => isChanged)
  const [updated, inserted] = [all.flatMap(changedRows), all.flatMap(newRows)]
  const stored = new Map(all.flatMap(({ storedQueue }) => [...storedQueue.rows]))
  return [
    ...users.upsertKeeping('traits', changed.map(userRowOf)),
    ...eventOccurrences.upsert(all.flatMap(changedOccurrences)),
    ...decisions.upsert(Array.from(draft.decisions.values(), decisionRowOf)),
    ...writeQueues({ updated, stored, inserted }),
    ...keepOutcomes(draft.outcomes),
  ]
}

function userRowOf(user: DraftUser) {
  const { profile, storedTraits } = user
  const { traits, traitBytes } = profile
  return {
    ...user,
    traitBytes,
    traits: formatChangedTraits(traits, storedTraits),
    device: JSON.stringify(profile.device),
    firstSeenAt: isoOf(user.firstSeenAt),
    sessionStartedAt: isoOf(user.sessionStartedAt),
    lastSdkContactAt: isoOf(user.lastSdkContactAt),
  }
}

function changedOccurrences({ organization, project, userId, events, changedCounts }: DraftUser) {
  return [...changedCounts].flatMap((slug) => {
    const history = events.get(slug)
    if (!history) return []
    const { total, latest: latestMs, session, missed } = history
    return {
      organization,
      project,
      userId,
      slug,
      total,
      latestMs,
      sessionStartedAt: isoOf(session?.startedAt),
      sessionCount: session?.count ?? 0,
      missedAt: isoOf(missed?.occurredAt),
      missedReceivedAt: isoOf(missed?.received),
    }
  })
}

function decisionRowOf(decision: DecisionRow) {
  return { ...decision, trigger: JSON.stringify(decision.trigger), gates: JSON.stringify(decision.gates) }
}

/** Returns the changed rows. Rows are replaced, never mutated: another object is another row. */
function changedRows({ queue, storedQueue: { rows: stored } }: DraftUser) {
  return [...queue.rows.values()].filter((row) => stored.has(row.id) && stored.get(row.id) !== row)
}

function newRows({ queue, storedQueue: { rows: stored }, partition }: DraftUser) {
  return [...queue.rows.values()].flatMap((row) => (stored.has(row.id) ? [] : { ...row, partition }))
}
