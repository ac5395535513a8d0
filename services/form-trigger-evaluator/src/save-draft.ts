import { type ErasedUser, erasedSource, eraseRows } from '@nextvisit/consumer'
import { isoOf, type Sql, sql } from '@nextvisit/database'
import { answerRowsOf, formatChangedTraits } from '@nextvisit/domain'
import type { DecisionRow, DraftUser, Draft } from './draft.ts'
import { keepOutcomes } from './idempotent-outcomes.ts'
import { writeQueues } from './queue-rows.ts'
import { decisions, eventOccurrences, formAnswers, users } from './tables.ts'

/** Returns statements for the rows that a batch has changed: one for each table, however many rows. */
export function saveDraft(draft: Draft): readonly Sql[] {
  const all = [...draft.users.values()]
  const changed = all.filter(({ isChanged }) => isChanged)
  const [updated, inserted] = [all.flatMap(changedRows), all.flatMap(newRows)]
  const stored = new Map(all.flatMap(({ storedQueue }) => [...storedQueue.rows]))
  const answers = all.map((user) => answerRowsOf(user, user.storedAnswers, user.answers))
  return [
    ...eraseEverything(draft.erased),
    ...users.upsertKeeping('traits', changed.map(userRowOf)),
    ...eventOccurrences.upsert(all.flatMap(changedOccurrences)),
    ...formAnswers.upsert(answers.flatMap(({ written }) => written)),
    ...formAnswers.deleteByKeys(answers.flatMap(({ dropped }) => dropped)),
    ...decisions.upsert(Array.from(draft.decisions.values(), decisionRowOf)),
    ...writeQueues({ updated, stored, inserted }),
    ...keepOutcomes(draft.outcomes),
  ]
}

/**
 * Deletes all rows of erased users. Rows of the queue are older than the erasure if a record before it has queued them: a rebuild may
 * have read later ones from `form-events` already.
 */
function eraseEverything(erased: readonly ErasedUser[]): readonly Sql[] {
  if (erased.length === 0) return []
  return [
    ...eraseRows('users', erased),
    ...eraseRows('event_occurrences', erased),
    ...eraseRows('form_answers', erased),
    ...eraseRows('decisions', erased),
    ...eraseRows('idempotent_outcomes', erased, { columns: ['user_id'] }),
    ...eraseRows('queue', erased, { only: sql`coalesce(own.cause_offset, -1) < erased."offset"` }),
    ...eraseRows('shown_forms', erased),
    sql`
    INSERT INTO shown_forms (organization, project, user_id, form_id, times, last_at)
    SELECT organization, project, user_id, form_id, count(*), max(shown_at)
    FROM queue JOIN ${erasedSource(erased)} USING (organization, project, user_id)
    WHERE state = 'delivered' GROUP BY organization, project, user_id, form_id
    ORDER BY organization, project, user_id, form_id`,
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
