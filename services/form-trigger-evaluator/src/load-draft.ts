import type { DeviceFacts, TraitValue, UserFact, UserRef } from '@nextvisit/contracts'
import { type Db, sql, type Sql } from '@nextvisit/database'
import { queueOf, type ShownForm } from '@nextvisit/domain'
import { readTogether, type Recorded } from '@nextvisit/projection'
import { emptyDraft, type FormsDraft, newUser, userKeyOf } from './forms-draft.ts'
import { isoOf, QUEUE_COLUMNS, type StoredQueueRow, toQueueRow } from './queue-rows.ts'

/** `traits` and `device` come as text: slugs such as `__proto__` become keys of a map at once. */
type StoredUser = Readonly<UserRef> & {
  readonly traits: string
  readonly device: string
  readonly firstSeenAt: string | null
  readonly sessionStartedAt: string | null
  readonly lastSdkContactAt: string | null
}

type StoredOccurrences = Readonly<UserRef> & {
  readonly slug: string
  readonly total: number
  readonly latest: readonly number[]
  readonly sessionStartedAt: string | null
  readonly sessionCount: number
}

type StoredShown = Readonly<UserRef & ShownForm> & { readonly formId: string }

interface Stored {
  readonly users: StoredUser
  readonly occurrences: StoredOccurrences
  readonly queue: StoredQueueRow
  readonly shown: StoredShown
}

/** Everything that is known of the users that a batch touches, by one query, however large the batch. */
export async function loadDraft(db: Db, batch: readonly Recorded<UserFact>[]): Promise<FormsDraft> {
  const draft = emptyDraft()
  for (const { fact, partition } of batch) draft.users.set(userKeyOf(fact), newUser(fact, partition))
  const stored = await readTogether<Stored>(db, askedFor([...draft.users.values()]), {
    users: USERS,
    occurrences: OCCURRENCES,
    queue: queueFor(batch),
    shown: SHOWN,
  })
  addUsers(draft, stored.users)
  addOccurrences(draft, stored.occurrences)
  addQueues(draft, stored.queue, stored.shown)
  return draft
}

function askedFor(users: readonly UserRef[]): Sql {
  return sql`SELECT * FROM unnest(
    ${users.map((user) => user.organization)}::text[],
    ${users.map((user) => user.project)}::text[],
    ${users.map((user) => user.userId)}::uuid[]
  ) AS asked (organization, project, user_id)`
}

const USERS = sql`
  SELECT organization, project, user_id AS "userId", traits::text, device::text, first_seen_at AS "firstSeenAt",
         session_started_at AS "sessionStartedAt", last_sdk_contact_at AS "lastSdkContactAt"
  FROM users JOIN asked USING (organization, project, user_id)`

function addUsers({ users }: FormsDraft, rows: readonly StoredUser[]): void {
  for (const row of rows) {
    const user = users.get(userKeyOf(row))
    if (!user) continue
    user.traits = new Map(Object.entries(JSON.parse(row.traits) as Record<string, TraitValue>))
    user.device = JSON.parse(row.device) as DeviceFacts
    user.firstSeenAt = msOf(row.firstSeenAt)
    user.sessionStartedAt = msOf(row.sessionStartedAt)
    user.lastSdkContactAt = msOf(row.lastSdkContactAt)
  }
}

/** Every event of the user, as any audience may ask for any. */
const OCCURRENCES = sql`
  SELECT organization, project, user_id AS "userId", slug, total, latest_ms AS latest,
         session_started_at AS "sessionStartedAt", session_count AS "sessionCount"
  FROM event_occurrences JOIN asked USING (organization, project, user_id)`

function addOccurrences({ users }: FormsDraft, rows: readonly StoredOccurrences[]): void {
  for (const { total, latest, ...row } of rows) {
    const startedAt = msOf(row.sessionStartedAt)
    const session = startedAt === undefined ? undefined : { startedAt, count: row.sessionCount }
    users.get(userKeyOf(row))?.events.set(row.slug, { total, latest, session })
  }
}

/** Open rows, rows that a `VisitAnswered` names, and rows that these records queued when they were processed before. */
function queueFor(batch: readonly Recorded<UserFact>[]): Sql {
  const named = batch.flatMap(({ fact }) => (fact.type === 'VisitAnswered' ? fact.queuedId : []))
  const causes = batch.map(({ fact }) => fact.id)
  return sql`
    SELECT ${QUEUE_COLUMNS} FROM queue JOIN asked USING (organization, project, user_id)
    WHERE state IN ('waiting', 'offered') OR id = ANY(${named}::uuid[]) OR cause_id = ANY(${causes}::uuid[])`
}

/** What frequency and cooldown count from. */
const SHOWN = sql`
  SELECT organization, project, user_id AS "userId", form_id AS "formId", count(*) AS times, max(shown_at) AS "lastAt"
  FROM queue JOIN asked USING (organization, project, user_id)
  WHERE state = 'delivered'
  GROUP BY organization, project, user_id, form_id`

function addQueues({ users }: FormsDraft, rows: readonly StoredQueueRow[], shown: readonly StoredShown[]): void {
  const rowsOf = Map.groupBy(rows.map(toQueueRow), userKeyOf)
  const shownOf = Map.groupBy(shown, userKeyOf)
  for (const [key, user] of users) {
    user.storedQueue = queueOf(rowsOf.get(key) ?? [], new Map((shownOf.get(key) ?? []).map(toShown)))
    user.queue = user.storedQueue
  }
}

function toShown({ formId, times, lastAt }: StoredShown): [string, ShownForm] {
  return [formId, { times, lastAt: isoOf(lastAt) }]
}

function msOf(instant: string | null): number | undefined {
  return instant === null ? undefined : Date.parse(instant)
}
