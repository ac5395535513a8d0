import {
  encodeRecord,
  ERASURE_STORES,
  type ErasureCompleted,
  type ErasureReceipt,
  type ErasureStoreName,
  type ProjectRef,
  TOPICS,
} from '@nextvisit/contracts'
import { type CommitDb, sql } from '@nextvisit/database'
import { keyTimeMs, uuidV5 } from '@nextvisit/domain'
import { type KeyRing, openReceiptSecret, signReceipt } from '@nextvisit/sealing'
import { erasures, erasureStores, installationKeys } from '../tables.ts'
import { NOT_COVERED } from './not-covered.ts'
import { REDIS_AWAY } from './redis-store.ts'
import { reopenStore } from './running-erasures.ts'

/** Keeps a receipt below the limit of a record. A user seldom has more than two keys. */
const MAX_KEYS_LISTED = 4_000
const RECEIPTS_A_ROUND = 10
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
  /** Throws `InstallationKeyError`. */
  async function publish(): Promise<void> {
    const erasureIds = await readFinished(db)
    if (erasureIds.length === 0) return
    const [keys] = await installationKeys.selectByKeys(db, [{ id: 1 }])
    if (!keys) return
    const secret = openReceiptSecret(keyRing, keys.receiptSecret)
    for (const erasureId of erasureIds) {
      const content = await readContent(db, erasureId, now())
      if (!content) continue
      const userIds = content.users.map(({ userId }) => userId)
      const isErased = await eraseAgain(content, userIds).then(
        () => true,
        () => false,
      )
      if (isErased) await queue(signReceipt(content, secret))
      else await db.$executeRaw(reopenStore(erasureId, 'redis', REDIS_AWAY))
    }
    drainSoon()
  }

  /** One statement, so that a process that is about to lose the partition queues no second receipt. */
  async function queue(receipt: ErasureReceipt): Promise<void> {
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
    await db.$executeRaw(sql`
      WITH first AS (
        INSERT INTO erasure_stores (erasure_id, store, finished_at)
        VALUES (${erasureId}::uuid, 'receipt', ${at}::timestamptz) ON CONFLICT DO NOTHING RETURNING erasure_id
      )
      INSERT INTO outbox (partition, topic, key, value, headers)
      SELECT 0, ${TOPICS.erasures}, ${erasureId}, ${value}, ${JSON.stringify(headers)}::jsonb FROM first`)
  }

  return { publish }
}

/** Returns erasures whose stores have all finished, and whose receipt is not queued. */
async function readFinished(db: CommitDb): Promise<readonly string[]> {
  const rows = await db.$queryRaw<{ erasureId: string }[]>(sql`
    SELECT erasure_id AS "erasureId" FROM erasures AS own
    WHERE completed_at IS NULL
      AND NOT EXISTS (SELECT FROM erasure_stores AS s WHERE (s.erasure_id, s.store) = (own.erasure_id, 'receipt'))
      AND ${ERASURE_STORES.length}::int = (
        SELECT count(*) FROM erasure_stores AS s
        WHERE s.erasure_id = own.erasure_id AND s.finished_at IS NOT NULL AND s.store = ANY(${[...ERASURE_STORES]}::text[]))
    ORDER BY erasure_id LIMIT ${RECEIPTS_A_ROUND}`)
  return rows.map(({ erasureId }) => erasureId)
}

interface ReceiptUser {
  readonly userId: string
  readonly partition: number
  readonly offset: string
  readonly keysUntil: Date
  readonly keys: readonly { readonly keyId: string; readonly fingerprint: string }[]
}

async function readContent(
  db: CommitDb,
  erasureId: string,
  at: Date,
): Promise<Omit<ErasureReceipt, 'publicKey' | 'signature'> | undefined> {
  const [[erasure], stores, users] = await Promise.all([
    erasures.selectByKeys(db, [{ erasureId }]),
    erasureStores.selectByKeys(db, [{ erasureId }], ['erasureId']),
    readUsers(db, erasureId),
  ])
  if (!erasure) return undefined
  const { organization, project, requestedAt, suppress, unknown } = erasure
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

/** Reads the users of an erasure with the keys that were found since its request. */
function readUsers(db: CommitDb, erasureId: string): Promise<readonly ReceiptUser[]> {
  return db.$queryRaw<ReceiptUser[]>(sql`
    SELECT own.user_id AS "userId", fact.partition, fact."offset"::text AS "offset", own.keys_until AS "keysUntil", (
      SELECT coalesce(jsonb_agg(jsonb_build_object('keyId', k.key_id, 'fingerprint', k.fingerprint) ORDER BY k.key_id), '[]')
      FROM erased_keys AS k
      WHERE k.user_id = own.user_id AND (k.gone_at IS NULL OR k.gone_at >= erasure.requested_at)
    ) AS keys
    FROM erasure_users AS own JOIN erasures AS erasure USING (erasure_id)
    JOIN erasure_facts AS fact USING (erasure_id, user_id)
    WHERE own.erasure_id = ${erasureId}::uuid ORDER BY own.user_id`)
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
