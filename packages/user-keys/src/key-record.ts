import { USER_KEYS_TOPIC } from '@nextvisit/contracts'
import type { RecordToPublish } from '@nextvisit/log'
import { keyNameOf, type WrappedKey } from '@nextvisit/sealing'

/** Returns the record of a key on `user-keys`. `partition`: the user's partition of user-events. */
export function keyRecordOf(key: WrappedKey, partition: number, topic: string = USER_KEYS_TOPIC): RecordToPublish {
  return { topic, partition, key: keyNameOf(key), value: key.wrapped, headers: {} }
}
