import { FormFact, type QueueRow, TOPICS } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { evolveRow } from '@nextvisit/domain'
import { partitionForKey } from '@nextvisit/log'
import type { Projection, Recorded } from '@nextvisit/projection'
import { QUEUE_COLUMNS, type StoredQueueRow, toQueueRow, writeQueues } from './queue-rows.ts'

/** The rows that facts name, by id: as they were stored, and as the facts have left them. */
interface QueueDraft {
  readonly stored: ReadonlyMap<string, QueueRow>
  readonly changed: Map<string, QueueRow>
}

/** The queue from the evaluator's own decisions: for a rebuild alone (forms.md, The queue). */
export function createQueueProjection(userEventsPartitions: number): Projection<FormFact, QueueDraft> {
  return {
    name: 'form-trigger-evaluator.queue',
    topics: [TOPICS.formEvents],
    schema: FormFact,
    empty: () => ({ stored: new Map(), changed: new Map() }),
    load: readNamedRows,
    evolve: (draft, { fact }) => {
      const { stored, changed } = draft
      const before = changed.get(fact.queuedId) ?? stored.get(fact.queuedId)
      const after = evolveRow(before, fact)
      if (after && after !== before) changed.set(after.id, after)
      return draft
    },
    save: ({ stored, changed }) => {
      const { updated = [], inserted = [] } = Object.groupBy(changed.values(), ({ id }) =>
        stored.has(id) ? 'updated' : 'inserted',
      )
      const ofPartition = inserted.map((row) => {
        return { ...row, partition: partitionForKey(row.userId, userEventsPartitions) }
      })
      return writeQueues({ updated, inserted: ofPartition })
    },
  }
}

async function readNamedRows(db: Db, batch: readonly Recorded<FormFact>[]): Promise<QueueDraft> {
  const facts = batch.map(({ fact }) => fact)
  const rows = await db.$queryRaw<StoredQueueRow[]>(sql`
    SELECT ${QUEUE_COLUMNS} FROM queue
    JOIN (
      SELECT DISTINCT * FROM unnest(
        ${facts.map((fact) => fact.organization)}::text[],
        ${facts.map((fact) => fact.project)}::text[],
        ${facts.map((fact) => fact.userId)}::uuid[],
        ${facts.map((fact) => fact.queuedId)}::uuid[]
      ) AS given (organization, project, user_id, id)
    ) AS named USING (organization, project, user_id, id)`)
  return { stored: new Map(rows.map(toQueueRow).map((row) => [row.id, row])), changed: new Map() }
}
