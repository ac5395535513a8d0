import { setTimeout as sleep } from 'node:timers/promises'
import { hasPersonalMembers, type ProjectRef, type ActivityFact } from '@nextvisit/contracts'
import { partitionForKey } from '@nextvisit/log'
import type { DataKey, KeyRing } from '@nextvisit/sealing'
import { createSealingKeys, type Fences, keyRecordOf } from '@nextvisit/user-keys'
import type { ConsumerDatabase } from '../environment/consumer-database.ts'
import {
  type FactToSeal,
  type ImportLog,
  notAcceptedError,
  PUBLISH_WITHIN_MS,
  TRIES,
  TRY_AGAIN_AFTER_MS,
} from './publish-facts.ts'

/** Maximum number of users whose data keys are in memory, each with about 1 KB. Keys of the others are read again. */
const MAX_OPEN_KEYS = 100_000

export interface ImportKeys {
  /**
   * Returns a data key for each user of these facts that needs one, and the facts that no key may seal. The keys are in the log.
   * Throws a {@link CliError} if Kafka does not accept a new one.
   */
  readonly keysFor: (facts: readonly ActivityFact[]) => Promise<{
    readonly keys: ReadonlyMap<string, DataKey>
    /** Ids of facts that were folded before their user was erased. A new key would make them readable again. */
    readonly erased: ReadonlySet<string>
  }>
}

interface ImportKeysParts {
  readonly project: ProjectRef
  readonly keyRing: KeyRing
  /** The latest erasures. The projector knows all that are folded. */
  readonly fences: Fences
  readonly projector: Pick<ConsumerDatabase, 'run'>
  readonly log: ImportLog
}

/** Creates the data keys of the users of a file. They have three sources: memory, the user projector, and new ones. */
export function createImportKeys({ project, keyRing, fences, projector, log }: ImportKeysParts): ImportKeys {
  const { publisher, partitions, keysTopic } = log
  const sealingKeys = createSealingKeys({
    keyRing,
    publish: (key, partition, deadlineAt) => publisher.publish(keyRecordOf(key, partition, keysTopic), deadlineAt),
    fences,
    max: MAX_OPEN_KEYS,
  })
  /** `keysUntil` of erased users, ms since the epoch. */
  const erasedUntilMs = new Map<string, number>()
  /** The projector may not have folded the last erasures yet, and the fences may have forgotten the first. */
  const wasErased = (userId: string) => erasedUntilMs.has(userId) || fences.keysUntilOf(userId) !== undefined
  const keyOf = (userId: string) => sealingKeys.get(userId, erasedUntilMs.get(userId))?.key

  /** Reads the newest keys and the erasures of these users, as far as the projector has folded them. */
  async function readStored(userIds: readonly string[]): Promise<void> {
    if (userIds.length === 0) return
    const { rows } = await projector.run((client) =>
      client.query<StoredKeyRow>(SELECT_STORED_KEYS, [project.organization, project.project, userIds]),
    )
    for (const { user_id: userId, key_id: keyId, wrapped, keys_until: keysUntil } of rows) {
      if (keysUntil) erasedUntilMs.set(userId, keysUntil.getTime())
      if (keyId !== null && wrapped !== null) sealingKeys.add({ userId, keyId, wrapped })
    }
  }

  /** Returns the ids of these facts that the projector has folded. It keeps the ids of imported records forever. */
  async function readFolded(facts: readonly ActivityFact[]): Promise<ReadonlySet<string>> {
    if (facts.length === 0) return new Set()
    const ids = facts.map(({ id }) => id)
    const { rows } = await projector.run((client) => client.query<{ record_id: string }>(SELECT_FOLDED, [ids]))
    return new Set(rows.map(({ record_id: id }) => id))
  }

  /** New keys of a chunk are one request. */
  async function create(userIds: readonly string[]): Promise<void> {
    let missing = userIds
    for (let tries = 1; missing.length > 0; tries += 1) {
      if (tries > TRIES) throw notAcceptedError()
      if (tries > 1) await sleep(TRY_AGAIN_AFTER_MS)
      const deadlineAt = performance.now() + PUBLISH_WITHIN_MS
      const created = await Promise.all(
        missing.map((userId) =>
          sealingKeys.create(userId, partitionForKey(userId, partitions), {
            deadlineAt,
            keysUntilMs: erasedUntilMs.get(userId),
          }),
        ),
      )
      missing = missing.filter((_userId, index) => created[index] === undefined)
    }
  }

  return {
    keysFor: async (facts) => {
      const userIds = [...new Set(facts.map(({ userId }) => userId))]
      await readStored(userIds.filter((userId) => keyOf(userId) === undefined))
      const erased = await readFolded(facts.filter(({ userId }) => wasErased(userId)))
      const sealed = facts.filter((fact) => hasPersonalMembers(fact) && !erased.has(fact.id))
      const needed = [...new Set(sealed.map(({ userId }) => userId))]
      await create(needed.filter((userId) => keyOf(userId) === undefined))
      return { keys: new Map(needed.flatMap((userId) => pairOf(userId, keyOf(userId)))), erased }
    },
  }
}

/**
 * Adds data keys to facts. Leaves out those that were imported before an erasure of their user. `keys`: undefined in a dry run,
 * which publishes nothing.
 */
export async function addKeys(
  facts: readonly ActivityFact[],
  keys: ImportKeys | undefined,
): Promise<{ readonly facts: readonly FactToSeal[]; readonly alreadyThere: number }> {
  const found = facts.length > 0 ? await keys?.keysFor(facts) : undefined
  const left = facts.filter(({ id }) => !found?.erased.has(id))
  return {
    facts: left.map((fact) => ({ fact, key: found?.keys.get(fact.userId) })),
    alreadyThere: facts.length - left.length,
  }
}

function pairOf(userId: string, key: DataKey | undefined): readonly (readonly [string, DataKey])[] {
  return key ? [[userId, key]] : []
}

interface StoredKeyRow {
  readonly user_id: string
  readonly key_id: string | null
  readonly wrapped: string | null
  readonly keys_until: Date | null
}

const SELECT_STORED_KEYS = `
  SELECT asked.user_id, newest.key_id, newest.wrapped, erased.keys_until
  FROM unnest($3::uuid[]) AS asked (user_id)
  LEFT JOIN LATERAL (
    SELECT key_id, wrapped FROM user_keys WHERE user_keys.user_id = asked.user_id ORDER BY key_id DESC LIMIT 1
  ) AS newest ON true
  LEFT JOIN erased_users AS erased ON (erased.organization, erased.project, erased.user_id) = ($1, $2, asked.user_id)
  WHERE newest.key_id IS NOT NULL OR erased.keys_until IS NOT NULL`

const SELECT_FOLDED = 'SELECT record_id FROM idempotent_records WHERE record_id = ANY ($1::uuid[])'
