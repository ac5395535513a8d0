import type { DeviceFacts, TraitValue, UserFact, UserRef } from '@nextvisit/contracts'
import { type Db, msOf, sql, type Sql } from '@nextvisit/database'
import { queueOf, type ShownForm } from '@nextvisit/domain'
import { type JsonRow, readTogether, type Recorded } from '@nextvisit/projection'
import { emptyDraft, type FormsDraft, newUser, userKeyOf } from './forms-draft.ts'
import { toQueueRow } from './queue-rows.ts'
import { eventOccurrences, queues, users } from './tables.ts'

type StoredShown = Readonly<UserRef & ShownForm> & { readonly formId: string }

interface Stored {
  readonly users: JsonRow
  readonly occurrences: JsonRow
  readonly queue: JsonRow
  readonly shown: StoredShown
}

/** Everything that is known of the users that a batch touches, by one query, however large the batch. */
export async function loadDraft(db: Db, batch: readonly Recorded<UserFact>[]): Promise<FormsDraft> {
  const draft = emptyDraft()
  for (const { fact, partition } of batch) draft.users.set(userKeyOf(fact), newUser(fact, partition))
  const asked = sql`SELECT * FROM ${users.source('asked', [...draft.users.values()])}`
  const stored = await readTogether<Stored>(db, asked, {
    users: sql`SELECT ${users.columns} FROM users JOIN asked USING (organization, project, user_id)`,
    // Every event of the user, as any audience may ask for any.
    occurrences: sql`
      SELECT ${eventOccurrences.columns} FROM event_occurrences JOIN asked USING (organization, project, user_id)`,
    queue: queueFor(batch),
    shown: SHOWN,
  })
  stored.users.forEach((row) => putUser(draft, row))
  stored.occurrences.forEach((row) => putOccurrences(draft, row))
  putQueues(draft, stored.queue, stored.shown)
  return draft
}

function putUser(draft: FormsDraft, found: JsonRow): void {
  const row = users.parse(found)
  const user = draft.users.get(userKeyOf(row))
  if (!user) return
  user.traits = new Map(Object.entries(JSON.parse(row.traits) as Record<string, TraitValue>))
  user.storedTraits = user.traits
  user.traitBytes = row.traitBytes
  user.device = JSON.parse(row.device) as DeviceFacts
  user.firstSeenAt = msOf(row.firstSeenAt)
  user.sessionStartedAt = msOf(row.sessionStartedAt)
  user.lastSdkContactAt = msOf(row.lastSdkContactAt)
}

function putOccurrences(draft: FormsDraft, found: JsonRow): void {
  const { slug, total, latestMs: latest, ...row } = eventOccurrences.parse(found)
  const startedAt = msOf(row.sessionStartedAt)
  const session = startedAt === undefined ? undefined : { startedAt, count: row.sessionCount }
  draft.users.get(userKeyOf(row))?.events.set(slug, { total, latest, session })
}

/** Open rows, rows that a `VisitAnswered` names, and rows that these records queued when they were processed before. */
function queueFor(batch: readonly Recorded<UserFact>[]): Sql {
  const named = batch.flatMap(({ fact }) => (fact.type === 'VisitAnswered' ? fact.queuedId : []))
  const causes = batch.map(({ fact }) => fact.id)
  return sql`
    SELECT ${queues.columns} FROM queue JOIN asked USING (organization, project, user_id)
    WHERE state IN ('waiting', 'offered') OR id = ANY(${named}::uuid[]) OR cause_id = ANY(${causes}::uuid[])`
}

/** What frequency and cooldown count from. */
const SHOWN = sql`
  SELECT organization, project, user_id AS "userId", form_id AS "formId", count(*) AS times, max(shown_at) AS "lastAt"
  FROM queue JOIN asked USING (organization, project, user_id)
  WHERE state = 'delivered'
  GROUP BY organization, project, user_id, form_id`

function putQueues(draft: FormsDraft, rows: readonly JsonRow[], shown: readonly StoredShown[]): void {
  const rowsOf = Map.groupBy(
    rows.map((row) => toQueueRow(queues.parse(row))),
    userKeyOf,
  )
  const shownOf = Map.groupBy(shown, userKeyOf)
  for (const [key, user] of draft.users) {
    user.storedQueue = queueOf(rowsOf.get(key) ?? [], new Map((shownOf.get(key) ?? []).map(toShown)))
    user.queue = user.storedQueue
  }
}

function toShown({ formId, times, lastAt }: StoredShown): [string, ShownForm] {
  return [formId, { times, lastAt: new Date(lastAt).toISOString() }]
}
