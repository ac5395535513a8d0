import {
  encodeRecord,
  ERASURE_STORES,
  type ErasureCompleted,
  type ErasureReceipt,
  type ErasureStoreName,
  type ProjectRef,
  TOPICS,
} from '@nextvisit/contracts'
import { type CommitDb, type RowOf, type Sql, sql } from '@nextvisit/database'
import { keyTimeMs, uuidV5 } from '@nextvisit/domain'
import { type KeyRing, openReceiptSecret, signReceipt } from '@nextvisit/sealing'
import { erasures, erasureStores, installationKeys } from '../tables.ts'
import { NOT_COVERED } from './not-covered.ts'
import { projectOf, REDIS_AWAY } from './redis-store.ts'
import { haveFinished, reopenStore } from './running-erasures.ts'
import { createTurns } from './turns.ts'

/** Keeps a receipt below the limit of a record. A user seldom has more than two keys. */
const MAX_KEYS_LISTED = 4_000
/** A receipt seldom has more than 1 KB for each user. */
const RECEIPTS_A_PAGE = 200
/** The name of `ErasureCompleted` in the namespace of the erasureId. */
const COMPLETED = 'completed'

interface ReceiptsParts {
  readonly db: CommitDb
  readonly keyRing: KeyRing
  readonly now: () => Date
  /** Deletes copies in Redis that a gateway has written since. Rejects if Redis fails. */
  readonly eraseAgain: (project: ProjectRef, userIds: readonly string[]) => Promise<unknown>
  readonly drainSoon: () => void
}

/** Publishes `ErasureCompleted` with the signed receipt for erasures whose stores have all finished. */
export function createReceipts({ db, keyRing, now, eraseAgain, drainSoon }: ReceiptsParts) {
  const turns = createTurns({ erasuresAPage: RECEIPTS_A_PAGE })

  /** Publishes a page of receipts. Returns true if there are more, and Redis answers. Throws `InstallationKeyError`. */
  async function publish(): Promise<boolean> {
    const { erasureIds, hasMore } = await turns.next(db, WAITS_FOR_RECEIPT)
    if (erasureIds.length === 0) return false
    const [keys] = await installationKeys.selectByKeys(db, [{ id: 1 }])
    if (!keys) return false
    const secret = openReceiptSecret(keyRing, keys.receiptSecret)
    const contents = await readContents(db, erasureIds, now())
    const areErased = await areErasedAgain(contents)
    const statements = areErased
      ? contents.map((content) => queue(signReceipt(content, secret)))
      : contents.map(({ erasureId }) => reopenStore(erasureId, 'redis', REDIS_AWAY))
    await db.executeAll(statements)
    drainSoon()
    return hasMore && areErased
  }

  /** Returns false if Redis fails. */
  async function areErasedAgain(contents: readonly Content[]): Promise<boolean> {
    try {
      for (const ofProject of Map.groupBy(contents, projectOf).values()) {
        const [first] = ofProject
        const userIds = new Set(ofProject.flatMap(({ users }) => users.map(({ userId }) => userId)))
        if (first) await eraseAgain(first, [...userIds])
      }
      return true
    } catch {
      return false
    }
  }

  return { publish }
}

/** Returns one statement, so that a process that is about to lose the partition queues no second receipt. */
function queue(receipt: ErasureReceipt): Sql {
  const { erasureId, organization, project, completedAt: at } = receipt
  const fact: ErasureCompleted = {
    type: 'ErasureCompleted',
    id: uuidV5(COMPLETED, erasureId),
    organization,
    project,
    erasureId,
    at,
    receipt: JSON.stringify(receipt),
  }
  const { value, headers } = encodeRecord(fact, { source: 'user-eraser', time: at })
  return sql`
    WITH first AS (
      INSERT INTO erasure_stores (erasure_id, store, finished_at)
      VALUES (${erasureId}::uuid, 'receipt', ${at}::timestamptz) ON CONFLICT DO NOTHING RETURNING erasure_id
    )
    INSERT INTO outbox (partition, topic, key, value, headers)
    SELECT 0, ${TOPICS.erasures}, ${erasureId}, ${value}, ${JSON.stringify(headers)}::jsonb FROM first`
}

/** Erasures whose stores have all finished, and whose receipt is not queued. Keys take longest, so they are looked up first. */
const WAITS_FOR_RECEIPT = sql`
  CASE WHEN ${haveFinished('user-keys')} THEN
    NOT EXISTS (SELECT FROM erasure_stores AS s WHERE (s.erasure_id, s.store) = (own.erasure_id, 'receipt'))
    AND ${ERASURE_STORES.length}::int = (
      SELECT count(*) FROM erasure_stores AS s
      WHERE s.erasure_id = own.erasure_id AND s.finished_at IS NOT NULL AND s.store = ANY(${[...ERASURE_STORES]}::text[]))
  ELSE false END`

type Content = Omit<ErasureReceipt, 'publicKey' | 'signature'>

interface ReceiptUser {
  readonly erasureId: string
  readonly userId: string
  readonly partition: number
  readonly offset: string
  readonly keysUntil: Date
  readonly keys: readonly { readonly keyId: string; readonly fingerprint: string }[]
}

/** Reads the contents of receipts, in the order of the ids. */
async function readContents(db: CommitDb, erasureIds: readonly string[], at: Date): Promise<readonly Content[]> {
  const keys = erasureIds.map((erasureId) => ({ erasureId }))
  const [rows, stores, users] = await Promise.all([
    erasures.selectByKeys(db, keys),
    erasureStores.selectByKeys(db, keys, ['erasureId']),
    readUsers(db, erasureIds),
  ])
  const [byId, storesOf, usersOf] = [
    new Map(rows.map((row) => [row.erasureId, row])),
    Map.groupBy(stores, ({ erasureId }) => erasureId),
    Map.groupBy(users, ({ erasureId }) => erasureId),
  ]
  return erasureIds.flatMap((erasureId) => {
    const row = byId.get(erasureId)
    return row ? contentOf(row, storesOf.get(erasureId) ?? [], usersOf.get(erasureId) ?? [], at) : []
  })
}

function contentOf(
  { erasureId, organization, project, requestedAt, suppress, unknown }: RowOf<typeof erasures>,
  stores: readonly RowOf<typeof erasureStores>[],
  users: readonly ReceiptUser[],
  at: Date,
): Content {
  const finished = new Map(stores.map((row) => [row.store, row]))
  return {
    version: 1,
    erasureId,
    organization,
    project,
    requestedAt,
    completedAt: at.toISOString(),
    suppress,
    unknown,
    users: withBoundedKeys(users),
    stores: ERASURE_STORES.map((store: ErasureStoreName) => ({
      store,
      at: finished.get(store)?.finishedAt ?? at.toISOString(),
      rows: finished.get(store)?.rows ?? 0,
    })),
    notCovered: [...NOT_COVERED],
  }
}

/** Reads the users of erasures with the keys that were found since the request. */
function readUsers(db: CommitDb, erasureIds: readonly string[]): Promise<readonly ReceiptUser[]> {
  return db.$queryRaw<ReceiptUser[]>(sql`
    SELECT own.erasure_id AS "erasureId", own.user_id AS "userId", fact.partition, fact."offset"::text AS "offset",
      own.keys_until AS "keysUntil", (
      SELECT coalesce(jsonb_agg(jsonb_build_object('keyId', k.key_id, 'fingerprint', k.fingerprint) ORDER BY k.key_id), '[]')
      FROM erased_keys AS k
      WHERE k.user_id = own.user_id AND (k.gone_at IS NULL OR k.gone_at >= erasure.requested_at)
    ) AS keys
    FROM erasure_users AS own JOIN erasures AS erasure USING (erasure_id)
    JOIN erasure_facts AS fact USING (erasure_id, user_id)
    WHERE own.erasure_id = ANY(${[...erasureIds]}::uuid[]) ORDER BY own.erasure_id, own.user_id`)
}

function withBoundedKeys(users: readonly ReceiptUser[]): ErasureReceipt['users'] {
  let left = MAX_KEYS_LISTED
  return users.map(({ userId, partition, offset, keysUntil, keys }) => {
    // A later erasure of the user may have found later keys.
    const own = keys.filter(({ keyId }) => keyTimeMs(keyId) <= keysUntil.getTime())
    const listed = own.slice(0, left)
    left -= listed.length
    return { userId, partition, offset, keyCount: own.length, keys: listed }
  })
}
