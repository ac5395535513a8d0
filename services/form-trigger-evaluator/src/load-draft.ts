import type { DeviceFacts, TraitValue, UserFact } from '@nextvisit/contracts'
import { type Db, sql, type Sql } from '@nextvisit/database'
import type { Recorded } from '@nextvisit/projection'
import { type DraftUser, emptyDraft, type FormsDraft, newUser, userKeyOf } from './forms-draft.ts'
import { isOpen } from './queue-row.ts'
import { msOf, QUEUE_COLUMNS, type StoredQueueRow, toQueueRow } from './queue-rows.ts'

type UserKey = Pick<DraftUser, 'organization' | 'project' | 'userId'>

/** `traits` and `device` come as text: slugs such as `__proto__` pass through `JSON.parse` only. */
interface StoredUser extends UserKey {
  readonly traits: string
  readonly device: string
  readonly firstSeenAt: Date | null
  readonly sessionStartedAt: Date | null
  readonly lastSdkContactAt: Date | null
}

interface StoredOccurrences extends UserKey {
  readonly slug: string
  readonly total: bigint
  readonly latestMs: string
  readonly sessionStartedAt: Date | null
  readonly sessionCount: number
}

interface StoredShown extends UserKey {
  readonly formId: string
  readonly times: bigint
  readonly lastAt: Date
}

/** All that is known of the users that a batch touches: four questions, however large the batch. */
export async function loadDraft(db: Db, batch: readonly Recorded<UserFact>[]): Promise<FormsDraft> {
  const draft = emptyDraft()
  for (const { fact, partition } of batch) draft.users.set(userKeyOf(fact), newUser({ ...fact, partition }))
  const asked = askedFor([...draft.users.values()])
  await Promise.all([
    loadUsers(db, asked, draft),
    loadOccurrences(db, asked, draft),
    loadQueue(db, asked, draft, batch),
    loadShown(db, asked, draft),
  ])
  return draft
}

function askedFor(users: readonly UserKey[]): Sql {
  return sql`unnest(
    ${users.map((user) => user.organization)}::text[],
    ${users.map((user) => user.project)}::text[],
    ${users.map((user) => user.userId)}::uuid[]
  ) AS asked (organization, project, user_id)`
}

async function loadUsers(db: Db, asked: Sql, { users }: FormsDraft): Promise<void> {
  const rows = await db.$queryRaw<StoredUser[]>(sql`
    SELECT organization, project, user_id AS "userId", traits::text, device::text, first_seen_at AS "firstSeenAt",
           session_started_at AS "sessionStartedAt", last_sdk_contact_at AS "lastSdkContactAt"
    FROM users JOIN ${asked} USING (organization, project, user_id)`)
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
async function loadOccurrences(db: Db, asked: Sql, { users }: FormsDraft): Promise<void> {
  const rows = await db.$queryRaw<StoredOccurrences[]>(sql`
    SELECT organization, project, user_id AS "userId", slug, total, array_to_string(latest_ms, ',') AS "latestMs",
           session_started_at AS "sessionStartedAt", session_count AS "sessionCount"
    FROM event_occurrences JOIN ${asked} USING (organization, project, user_id)`)
  for (const row of rows) {
    const startedAt = msOf(row.sessionStartedAt)
    users.get(userKeyOf(row))?.events.set(row.slug, {
      total: Number(row.total),
      latest: row.latestMs.split(',').map(Number),
      session: startedAt === undefined ? undefined : { startedAt, count: row.sessionCount },
    })
  }
}

/** Open rows, those that a `VisitAnswered` names, and those that these very records queued before. */
async function loadQueue(
  db: Db,
  asked: Sql,
  { users }: FormsDraft,
  batch: readonly Recorded<UserFact>[],
): Promise<void> {
  const named = batch.flatMap(({ fact }) => (fact.type === 'VisitAnswered' ? fact.queuedId : []))
  const causes = batch.map(({ fact }) => fact.id)
  const rows = await db.$queryRaw<StoredQueueRow[]>(sql`
    SELECT ${QUEUE_COLUMNS} FROM queue JOIN ${asked} USING (organization, project, user_id)
    WHERE state IN ('waiting', 'offered') OR id = ANY(${named}::uuid[]) OR cause_id = ANY(${causes}::uuid[])`)
  for (const row of rows.map(toQueueRow)) {
    const user = users.get(userKeyOf(row))
    user?.rows.set(row.id, row)
    if (isOpen(row)) user?.open.set(row.formId, row)
  }
}

/** The clocks that frequency and cooldown go by. */
async function loadShown(db: Db, asked: Sql, { users }: FormsDraft): Promise<void> {
  const rows = await db.$queryRaw<StoredShown[]>(sql`
    SELECT organization, project, user_id AS "userId", form_id AS "formId", count(*) AS times,
           max(shown_at) AS "lastAt"
    FROM queue JOIN ${asked} USING (organization, project, user_id)
    WHERE state = 'delivered'
    GROUP BY organization, project, user_id, form_id`)
  for (const row of rows) {
    users.get(userKeyOf(row))?.shown.set(row.formId, { times: Number(row.times), lastAt: row.lastAt.getTime() })
  }
}
