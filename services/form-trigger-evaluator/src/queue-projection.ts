import { FormFact, type FormQueued, TOPICS } from '@nextvisit/contracts'
import { type Db, sql, unlessEmpty } from '@nextvisit/database'
import { partitionForKey } from '@nextvisit/log'
import type { Projection, Recorded } from '@nextvisit/projection'
import type { QueueRow } from './queue-row.ts'
import { insertQueueRows, QUEUE_COLUMNS, type StoredQueueRow, toQueueRow, updateQueueRows } from './queue-rows.ts'

/** Rows that facts name, by id, and what of them must be written. */
interface QueueDraft {
  readonly rows: Map<string, QueueRow>
  readonly stored: ReadonlySet<string>
  readonly changed: Set<string>
}

/**
 * The queue out of the evaluator's own decisions: for a rebuild alone (forms.md, The queue). `form-events` may hold a fact
 * twice, the second copy behind later facts of its row, so a row only moves forward: it waits, then it has expired or was
 * cancelled, then it was delivered, which a late answer may confirm of one that had expired.
 */
export function createQueueProjection(userEventsPartitions: number): Projection<FormFact, QueueDraft> {
  return {
    name: 'form-trigger-evaluator.queue',
    topics: [TOPICS.formEvents],
    schema: FormFact,
    empty: () => ({ rows: new Map(), stored: new Set(), changed: new Set() }),
    load: readNamedRows,
    evolve: (draft, { fact }) => {
      const before = draft.rows.get(fact.queuedId)
      const next = before ? moved(before, fact) : fact.type === 'FormQueued' && queued(fact, userEventsPartitions)
      if (!next || next === before) return draft
      draft.rows.set(next.id, next)
      draft.changed.add(next.id)
      return draft
    },
    save: ({ rows, stored, changed }) => {
      const written = [...rows.values()].filter(({ id }) => changed.has(id))
      const [updated, inserted] = [
        written.filter(({ id }) => stored.has(id)),
        written.filter(({ id }) => !stored.has(id)),
      ]
      return [...unlessEmpty(updated, updateQueueRows), ...unlessEmpty(inserted, insertQueueRows)]
    },
  }
}

function queued(fact: FormQueued, partitions: number): QueueRow {
  const { organization, project, userId, queuedId, formId, at, causeId, priority, showFrom, expiresAt } = fact
  return {
    organization,
    project,
    userId,
    id: queuedId,
    formId,
    state: 'waiting',
    priority,
    queuedAt: Date.parse(at),
    showFrom: Date.parse(showFrom),
    expiresAt: expiresAt === undefined ? undefined : Date.parse(expiresAt),
    causeId,
    catalogRevision: fact.catalogRevision,
    partition: partitionForKey(userId, partitions),
  }
}

/** The row as this fact leaves it; the same object where it is past that. */
function moved(row: QueueRow, fact: FormFact): QueueRow {
  switch (fact.type) {
    case 'FormQueued':
      return row
    case 'FormExpired':
      return row.state === 'waiting' ? { ...row, state: 'expired' } : row
    case 'FormCancelled':
      return row.state === 'waiting' ? { ...row, state: 'cancelled' } : row
    case 'FormDelivered': {
      const shownAt = Math.max(row.shownAt ?? 0, Date.parse(fact.at))
      return { ...row, state: 'delivered', shownAt, visitId: fact.visitId }
    }
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
  const known = rows.map(toQueueRow).map((row) => [row.id, row] as const)
  return { rows: new Map(known), stored: new Set(known.map(([id]) => id)), changed: new Set() }
}
