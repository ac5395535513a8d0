import { defineTable } from '@nextvisit/database'
import { type FetchedRecord, recordTimeMs } from '@nextvisit/log'

/** The projection, topic and partition that a checkpoint belongs to. */
export interface CheckpointKey {
  readonly projection: string
  readonly topic: string
  readonly partition: number
}

export const checkpoints = defineTable(
  'checkpoints',
  { projection: 'text', topic: 'text', partition: 'int', nextOffset: 'bigint', keyPartitions: 'int?' },
  ['projection', 'topic', 'partition'],
)

export const deadLetters = defineTable(
  'dead_letters',
  {
    projection: 'text',
    topic: 'text',
    partition: 'int',
    offset: 'bigint',
    key: 'bytea?',
    value: 'bytea?',
    headers: 'json',
    recordTime: 'timestamptz',
    reason: 'text',
    serviceVersion: 'text',
  },
  ['projection', 'topic', 'partition', 'offset'],
)

export const idempotentRecords = defineTable(
  'idempotent_records',
  { recordId: 'uuid', partition: 'int', received: 'timestamptz' },
  ['recordId'],
)

/** The latest fence of each erased user. */
export const erasedUsers = defineTable(
  'erased_users',
  {
    organization: 'text',
    project: 'text',
    userId: 'uuid',
    partition: 'int',
    offset: 'bigint',
    causeOffset: 'bigint?',
    keysUntil: 'timestamptz',
    erasureId: 'uuid',
    rows: 'bigint',
  },
  ['userId', 'organization', 'project'],
)

export const userKeys = defineTable('user_keys', { userId: 'uuid', keyId: 'uuid', wrapped: 'text', partition: 'int' }, [
  'userId',
  'keyId',
])

/** Postgres assigns `sequence`. */
export const outbox = defineTable(
  'outbox',
  { partition: 'int', topic: 'text', key: 'text', value: 'text', headers: 'jsonb' },
  [],
)

/** Returns Kafka's time of a record for the columns `record_time`, ISO. */
export function recordTimeOf({ timestampMs }: FetchedRecord): string {
  return new Date(recordTimeMs(timestampMs)).toISOString()
}
