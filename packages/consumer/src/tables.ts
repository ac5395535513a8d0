import { defineTable } from '@nextvisit/database'

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

/** Postgres assigns `sequence`. */
export const outbox = defineTable(
  'outbox',
  { partition: 'int', topic: 'text', key: 'text', value: 'text', headers: 'jsonb' },
  [],
)
