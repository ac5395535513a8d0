import { type Statement, unlessEmpty } from '@nextvisit/database'
import { upsertDecisions, upsertOccurrences, upsertUsers } from './activity-rows.ts'
import { formFactsToOutbox } from './form-fact-outbox.ts'
import type { DraftUser, FormsDraft } from './forms-draft.ts'
import { keepOutcomes } from './keyed-outcomes.ts'
import { insertQueueRows, updateQueueRows } from './queue-rows.ts'

/** What a batch has changed: a statement a table, however many rows. */
export function saveDraft({ users, decisions, facts, outcomes }: FormsDraft): readonly Statement[] {
  const all = [...users.values()]
  return [
    ...unlessEmpty(
      all.filter(({ isChanged }) => isChanged),
      upsertUsers,
    ),
    ...unlessEmpty(all.flatMap(changedOccurrences), upsertOccurrences),
    ...unlessEmpty(
      all.flatMap((user) => pick(user.rows, user.changedRows)),
      updateQueueRows,
    ),
    ...unlessEmpty(
      all.flatMap((user) => pick(user.rows, user.newRows)),
      insertQueueRows,
    ),
    ...unlessEmpty([...decisions.values()], upsertDecisions),
    ...formFactsToOutbox(facts),
    ...keepOutcomes([...outcomes.values()]),
  ]
}

function changedOccurrences(user: DraftUser) {
  return [...user.changedSlugs].flatMap((slug) => {
    const history = user.events.get(slug)
    return history ? { ...history, user, slug } : []
  })
}

function pick<Value>(values: ReadonlyMap<string, Value>, keys: ReadonlySet<string>): Value[] {
  return [...values].filter(([key]) => keys.has(key)).map(([, value]) => value)
}
