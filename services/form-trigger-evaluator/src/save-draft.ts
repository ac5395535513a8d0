import { type Statement, unlessEmpty } from '@nextvisit/database'
import { type Occurrences, upsertDecisions, upsertOccurrences, upsertUsers } from './activity-rows.ts'
import type { DraftUser, FormsDraft } from './forms-draft.ts'
import { keepOutcomes } from './keyed-outcomes.ts'
import { writeQueues } from './queue-rows.ts'

/** What a batch has changed: one statement for each table, however many rows. */
export function saveDraft({ users, decisions, facts, outcomes }: FormsDraft): readonly Statement[] {
  const all = [...users.values()]
  const changed = all.filter(({ isChanged }) => isChanged)
  return [
    ...unlessEmpty(changed, upsertUsers),
    ...unlessEmpty(all.flatMap(changedOccurrences), upsertOccurrences),
    ...unlessEmpty([...decisions.values()], upsertDecisions),
    ...writeQueues({ updated: all.flatMap(changedRows), inserted: all.flatMap(newRows), facts }),
    ...keepOutcomes([...outcomes.values()]),
  ]
}

function changedOccurrences(user: DraftUser): readonly Occurrences[] {
  return [...user.changedSlugs].flatMap((slug) => {
    const history = user.events.get(slug)
    return history ? { ...history, user, slug } : []
  })
}

/** Rows are replaced, never changed: another object is another row. */
function changedRows({ queue, storedQueue: { rows: stored } }: DraftUser) {
  return [...queue.rows.values()].filter((row) => stored.has(row.id) && stored.get(row.id) !== row)
}

function newRows({ queue, storedQueue: { rows: stored }, partition }: DraftUser) {
  return [...queue.rows.values()].flatMap((row) => (stored.has(row.id) ? [] : { ...row, partition }))
}
