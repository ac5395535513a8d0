import type { QueueRow } from '@nextvisit/contracts'
import type { RowOf, Sql } from '@nextvisit/database'
import { queues, shownForms } from './tables.ts'

/** Returns a row without its partition, which the rules do not know. */
export function toQueueRow(stored: RowOf<typeof queues>): QueueRow {
  const { partition: _, ...row } = stored
  return row as QueueRow
}

/**
 * Writes the changes of a batch or a tick in queues: updated rows before new ones, because the slot of a form must be free
 * first. `stored`: the stored versions of the updated rows, by id; absent for writes that deliver no form. New rows have the
 * partition of `user-events` whose owner ticks them.
 */
export function writeQueues({
  updated = [],
  stored = new Map(),
  inserted = [],
}: {
  readonly updated?: readonly QueueRow[]
  readonly stored?: ReadonlyMap<string, QueueRow>
  readonly inserted?: readonly (QueueRow & { readonly partition: number })[]
}): readonly Sql[] {
  return [
    ...queues.update(updated, ['state', 'offeredAt', 'shownAt', 'visitId', 'startedAt', 'endedAt', 'answerStatus']),
    ...queues.insert(inserted),
    ...shownForms.upsert([...updated, ...inserted].flatMap((row) => shownBy(row, stored.get(row.id)))),
  ]
}

/** Returns a row's addition to the counts of shown forms. A row counts once, however many visits showed it. */
function shownBy({ organization, project, userId, formId, state, shownAt }: QueueRow, before: QueueRow | undefined) {
  if (state !== 'delivered' || shownAt === null) return []
  const times = before?.state === 'delivered' ? 0 : 1
  return [{ organization, project, userId, formId, times, lastAt: shownAt }]
}
