import type { LogConnection } from '@nextvisit/log'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { readUserKeys } from '@nextvisit/user-keys'
import { readFences, RECORD_TOPICS, type RecordTopics } from './fences.ts'
import { createShowContent, type ShowContent } from './shown-content.ts'
import { createUserKeyOpener, type UserKeyOpener } from './user-key-opener.ts'

interface ShowTopicParts {
  readonly connection: LogConnection
  /** The topic of the records. */
  readonly of: 'userEvents' | 'formEvents'
  readonly topics?: RecordTopics
  readonly env: EnvironmentVariables
  /** Receives each record that an erasure covers. */
  readonly onErased: () => void
  /** Receives each record of a user that exists whose sealed members cannot be opened. */
  readonly onClosed: () => void
}

/**
 * Returns a function that says, for a partition of a topic, what may be shown of its records. The keys of one partition are in
 * memory at a time.
 */
export async function showTopic(parts: ShowTopicParts): Promise<(partition: number) => Promise<ShowContent>> {
  const { connection, of, topics = RECORD_TOPICS, env, onErased, onClosed } = parts
  const fences = await readFences({ connection, topics, of })

  async function readKeys(partition: number): Promise<UserKeyOpener> {
    const keys = await readUserKeys(connection, { topic: topics.userKeys, partitions: [partition] })
    const create = () => createUserKeyOpener(keys, env)
    // Few records of form-events are sealed. Without any, no secret key is necessary.
    return of === 'formEvents' ? createdWhenAsked(create) : create()
  }

  return async (partition) => {
    const showContent = createShowContent({ fences, keys: await readKeys(partition), onClosed })
    return (record, value) => {
      const shown = showContent(record, value)
      if (shown === 'erased') onErased()
      return shown
    }
  }
}

function createdWhenAsked(create: () => UserKeyOpener): UserKeyOpener {
  let opener: UserKeyOpener | undefined
  return {
    keyOf: (userId, keyId) => {
      opener ??= create()
      return opener.keyOf(userId, keyId)
    },
  }
}
