import { compareRows } from './compare-rows.ts'
import { type Fences, keyTimeMs } from './erasures.ts'
import { type UserRef, userKey } from './facts.ts'
import type { Model } from './model.ts'

interface FenceRow extends UserRef {
  readonly keysUntil: string
}

interface KeyRow {
  readonly userId: string
  readonly keyId: string
  readonly keysUntil: string
}

/** Creates the model of `erased_users`, the last fence of each user that the consumer has passed, and of the keys in `user_keys`. */
export function createErasuresModel(fences: Fences): Model {
  return {
    compareShared: async ({ service, checkpoints, rows }, findings) => {
      const passed = fences.all().filter(({ partition, offset }) => offset < (checkpoints.get(partition) ?? 0n))
      const expected = new Map(
        passed.map(({ fact, partition, offset }) => {
          const { keysUntil, erasureId } = fact
          const fence = { partition, offset: Number(offset), keysUntil, erasureId }
          const isCaused = fact.type === 'QueueErased'
          return [userKey(fact), { ...fence, ...(isCaused && { causeOffset: fact.causeOffset ?? null }) }] as const
        }),
      )
      await compareRows({
        table: `${service} erased_users`,
        expected,
        rows: rows<FenceRow>(
          `SELECT organization, project, user_id AS "userId", partition, "offset", keys_until AS "keysUntil",
             erasure_id AS "erasureId", cause_offset AS "causeOffset" FROM erased_users`,
        ),
        keyOf: userKey,
        findings,
      })
      for await (const { userId, keyId, keysUntil } of rows<KeyRow>(
        `SELECT user_id AS "userId", key_id AS "keyId", keys_until AS "keysUntil"
         FROM user_keys JOIN erased_users USING (user_id)`,
      )) {
        if (keyTimeMs(keyId) > Date.parse(keysUntil)) continue
        findings.add(`${service} user_keys: fenced`, `${userId} key ${keyId}`, 'exists, although its user was erased')
      }
    },
  }
}
