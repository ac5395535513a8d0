import type { FoldContext, OutboxRow, Projection, Recorded, Writes } from '@nextvisit/consumer'
import {
  encodeRecord,
  type ErasureCompleted,
  ErasureFact,
  type ErasureRequested,
  TOPICS,
  type UserErased,
} from '@nextvisit/contracts'
import { type Db, type NewRow, type Sql, sql } from '@nextvisit/database'
import { fencedFromMs, keysUntilMsOf, userErasedIdOf } from '@nextvisit/domain'
import { erasures, erasureUsers } from './tables.ts'

interface Draft {
  /** Erasures that are folded, by id. A repeated request is a duplicate. */
  readonly known: Set<string>
  /** `keysUntil` of the last erasure of a user, ms since the epoch. */
  readonly keysUntilMs: Map<string, number>
  readonly requested: NewRow<typeof erasures>[]
  readonly users: NewRow<typeof erasureUsers>[]
  readonly completed: ErasureCompleted[]
  readonly outbox: OutboxRow[]
}

/** Creates the projection of erasures. It publishes one `UserErased` for each user of a request. */
export function createProjection(): Projection<ErasureFact, Draft> {
  return {
    name: 'user-eraser',
    topic: TOPICS.erasures,
    schema: ErasureFact,
    load,
    // Gateways fold suppressions.
    evolve: { ErasureRequested: evolveRequested, ErasureCompleted: evolveCompleted, SuppressionLifted: 'ignored' },
    save,
  }
}

async function load(db: Db, records: readonly Recorded<ErasureFact>[]): Promise<Draft> {
  const facts = records.flatMap(({ fact }) => (fact.type === 'ErasureRequested' ? fact : []))
  const draft: Draft = {
    known: new Set(),
    keysUntilMs: new Map(),
    requested: [],
    users: [],
    completed: [],
    outbox: [],
  }
  if (facts.length === 0) return draft
  const userIds = [...new Set(facts.flatMap((fact) => fact.userIds))]
  const [known, last] = await Promise.all([
    erasures.selectByKeys(
      db,
      facts.map(({ id }) => ({ erasureId: id })),
    ),
    readKeysUntil(db, userIds),
  ])
  for (const { erasureId } of known) draft.known.add(erasureId)
  for (const [userId, untilMs] of last) draft.keysUntilMs.set(userId, untilMs)
  return draft
}

/** Returns `keysUntil` of the last erasure of each of these users, ms since the epoch. Others were never erased. */
export async function readKeysUntil(db: Db, userIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await db.$queryRaw<{ userId: string; keysUntil: Date }[]>(sql`
    SELECT asked.user_id AS "userId", last.keys_until AS "keysUntil"
    FROM unnest(${userIds}::uuid[]) AS asked (user_id), LATERAL (
      SELECT keys_until FROM erasure_users AS own WHERE own.user_id = asked.user_id ORDER BY keys_until DESC LIMIT 1
    ) AS last`)
  return new Map(rows.map(({ userId, keysUntil }) => [userId, keysUntil.getTime()]))
}

function evolveRequested(
  draft: Draft,
  { fact, partition, traceparent }: Recorded<ErasureRequested>,
  { mode }: FoldContext,
): void {
  const { id: erasureId, organization, project, received, unknown, suppress } = fact
  if (draft.known.has(erasureId)) return
  draft.known.add(erasureId)
  const userIds = new Set(fact.userIds)
  const place = { organization, project }
  const requested = { ...place, erasureId, requestedAt: received, users: userIds.size, unknown, suppress }
  draft.requested.push({ ...requested, keysOnly: false })
  for (const userId of userIds) {
    const untilMs = keysUntilMsOf(fencedFromMs(fact), draft.keysUntilMs.get(userId))
    draft.keysUntilMs.set(userId, untilMs)
    const keysUntil = new Date(untilMs).toISOString()
    draft.users.push({ ...place, userId, erasureId, keysUntil })
    if (mode === 'rebuild') continue
    const id = userErasedIdOf(erasureId, userId)
    const erased: UserErased = { type: 'UserErased', id, ...place, userId, received, erasureId, keysUntil }
    const encoded = encodeRecord(erased, { source: 'user-eraser', time: received, traceparent })
    draft.outbox.push({ partition, topic: TOPICS.userEvents, key: userId, ...encoded })
  }
}

function evolveCompleted(draft: Draft, { fact }: Recorded<ErasureCompleted>): void {
  draft.completed.push(fact)
}

function save({ requested, users, completed, outbox }: Draft): Writes {
  return {
    statements: [
      ...erasures.insertMissing(requested),
      ...erasureUsers.insertMissing(users),
      ...completed.map(complete),
    ],
    outbox,
  }
}

/** Of several completions the first one counts: its receipt was handed out. */
function complete({ erasureId, at, receipt }: ErasureCompleted): Sql {
  return sql`UPDATE erasures SET completed_at = ${at}::timestamptz, receipt = ${receipt}
    WHERE erasure_id = ${erasureId}::uuid AND completed_at IS NULL`
}
