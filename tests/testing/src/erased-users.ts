import {
  answerGiven,
  eventTracked,
  formAnswered,
  formDelivered,
  formQueued,
  identifyRequested,
  queueErased,
  segmentEntered,
  segmentLeft,
  userErased,
} from '@nextvisit/contracts/fixtures'
import { type Db, raw, sql } from '@nextvisit/database'

const userName = 'carol'

/** Facts of a user who is erased, for consumers that fold erasures, by the type of the record that erases. */
export const ERASED_USER = {
  UserErased: [
    identifyRequested({ userName, operations: { set: { plan: 'free' } } }),
    eventTracked({ userName, eventName: 'Read' }),
    userErased({ userName }),
  ],
  QueueErased: [
    formQueued({ userName }),
    formDelivered({ userName }),
    formAnswered(answerGiven({ userName })),
    segmentEntered({ userName }),
    segmentLeft({ userName }),
    queueErased({ userName }),
  ],
}

/** Returns an erasure for each user of these facts, which also covers every key of the present. */
export function erasuresOf(
  facts: readonly { readonly organization: string; readonly project: string; readonly userId: string }[],
  type: keyof typeof ERASED_USER,
) {
  const users = new Map(facts.map((fact) => [`${fact.project}/${fact.userId}`, fact]))
  const received = '2100-01-01T00:00:00.000Z'
  return [...users.values()].map(({ organization, project, userId }) => {
    const user = { organization, project, userId }
    return type === 'UserErased' ? userErased({ ...user, received }) : queueErased({ ...user, at: received })
  })
}

/** Of a data key from before every erasure. */
const KEY_BEFORE = '0187a5d4-8000-7000-8000-000000000000'

/** Stores a data key of a user that an erasure destroys. */
export async function storeKeyBefore(db: Db, userId: string | undefined): Promise<void> {
  await db.$executeRaw(sql`
    INSERT INTO user_keys (user_id, key_id, wrapped, partition) VALUES (${userId}::uuid, ${KEY_BEFORE}::uuid, '', 0)`)
}

/** Finds the tables of users by their columns, so that a new table is never forgotten. Returns whether each has rows. */
export async function readUserTables(db: Db): Promise<ReadonlyMap<string, boolean>> {
  const tables = await db.$queryRaw<{ name: string }[]>(sql`
    SELECT table_name AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND column_name = 'user_id' ORDER BY table_name`)
  const found = new Map<string, boolean>()
  for (const { name } of tables)
    found.set(name, (await db.$queryRaw<unknown[]>(raw(`SELECT FROM ${name} LIMIT 1`))).length > 0)
  return found
}
