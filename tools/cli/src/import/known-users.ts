import { setTimeout as sleep } from 'node:timers/promises'
import { type ProjectRef, TOPICS } from '@nextvisit/contracts'
import type { LogAdmin } from '@nextvisit/log'
import type { ConsumerDatabase } from '../environment/consumer-database.ts'
import { CliError } from '../errors.ts'
import { readStoredCheckpoints } from '../status/read-consumer.ts'
import { createShards } from './shards.ts'

const CAUGHT_UP_WITHIN_MS = 60_000

export interface KnownUsers {
  /** Adds a user that a line identifies. */
  readonly add: (userId: string) => void
  /** Returns whether an earlier line identifies the user, or a look-up has found them. */
  readonly has: (userId: string) => boolean
  /** Returns the users among these that were identified before the import. */
  readonly lookUp: (userIds: readonly string[]) => Promise<ReadonlySet<string>>
}

/** Creates the set of users that the file identifies or that the user projector knows. */
export function createKnownUsers(
  { organization, project }: ProjectRef,
  projector: ConsumerDatabase,
  admin: Pick<LogAdmin, 'watermarks'>,
): KnownUsers {
  const setOf = createShards(() => new Set<string>())
  let caughtUp: Promise<void> | undefined

  const add: KnownUsers['add'] = (userId) => void setOf(userId).add(userId)

  const lookUp: KnownUsers['lookUp'] = async (userIds) => {
    if (userIds.length === 0) return new Set()
    caughtUp ??= awaitCaughtUp(projector, admin)
    await caughtUp
    const { rows } = await projector.run((client) =>
      client.query<{ user_id: string }>(
        'SELECT user_id FROM users WHERE organization = $1 AND project = $2 AND user_id = ANY($3::uuid[])',
        [organization, project, [...new Set(userIds)]],
      ),
    )
    const found = rows.map((row) => row.user_id)
    for (const userId of found) add(userId)
    return new Set(found)
  }

  return { add, has: (userId) => setOf(userId).has(userId), lookUp }
}

/** Waits until the read model contains every user that was identified before the import began. */
async function awaitCaughtUp(projector: ConsumerDatabase, admin: Pick<LogAdmin, 'watermarks'>): Promise<void> {
  const ends = await admin.watermarks(TOPICS.userEvents)
  const giveUpAt = performance.now() + CAUGHT_UP_WITHIN_MS
  for (;;) {
    const checkpoints = await projector.run((client) => readStoredCheckpoints(client, 'user-projector'))
    const isBehind = [...ends].some(([partition, { low, high }]) => {
      const folded = checkpoints.find((checkpoint) => checkpoint.partition === partition)?.nextOffset ?? low
      return folded < high
    })
    if (!isBehind) return
    if (performance.now() > giveUpAt)
      throw new CliError(
        'user-projector lags, so the existing users are not known yet: see nextvisit status, and run the import again.',
      )
    await sleep(100)
  }
}
