import { type Db, sql } from '@nextvisit/database'
import { createTestDatabase } from '@nextvisit/testing'
import { inject, onTestFinished } from 'vitest'
import { visitsConsumer } from './visits-consumer.ts'

/** Opens the example consumer's tables, in a database of their own, over one connection. */
export async function givenConsumerDb(): Promise<Db> {
  const consumer = visitsConsumer()
  const database = await createTestDatabase(inject('databaseUrl'), consumer)
  const { schema } = consumer
  const db = await consumer.openDb({ url: database.url, schema, applicationName: 'spec', maxConnections: 1 })
  onTestFinished(async () => {
    await db.$disconnect()
    await database.drop()
  })
  return db
}

interface GivenDeadLetter {
  readonly reason: string
  readonly state?: string
  readonly value?: Buffer
  /** Default: its index among the given ones. */
  readonly offset?: number
}

/** Inserts dead letters of `visits` with ids 1, 2, 3, … at offsets 0, 1, 2, …, a minute apart. */
export async function givenDeadLetters(db: Db, letters: readonly GivenDeadLetter[]): Promise<void> {
  for (const [nth, { reason, state = 'dead', value = null, offset = nth }] of letters.entries()) {
    const recordTime = new Date(Date.UTC(2026, 10, 23, 3, offset))
    await db.$executeRaw(sql`
      INSERT INTO dead_letters
        (projection, topic, partition, "offset", value, headers, record_time, reason, service_version, state)
      VALUES ('visits', 'user-events', 0, ${offset}::bigint, ${value}::bytea, '{"ce_id": "a\\u001bb"}',
              ${recordTime}::timestamptz, ${reason}, '0', ${state})`)
  }
}
