import { type Db, sql } from '@nextvisit/database'
import { createLogReader, type Publisher } from '@nextvisit/log'
import { createLogger } from '@nextvisit/service-kit'
import { describe, expect, it } from 'vitest'
import { executeAll } from './execute-all.ts'
import { givenLog, type GivenLog } from '../test/given-log.ts'
import { givenVisitsDatabase } from '../test/given-visits.ts'
import { createOutboxDrain } from './outbox-drain.ts'
import { outboxStatements } from './outbox.ts'

async function givenOutbox(db: Db, { topic }: GivenLog, partition: number, values: readonly string[]): Promise<void> {
  const rows = values.map((value) => ({ topic: `${topic}.out`, key: 'ada', value, headers: {} }))
  await executeAll(db, [
    sql`SELECT set_config('nextvisit.partition', ${String(partition)}, true)`,
    ...outboxStatements(rows),
  ])
}

function givenDrain(db: Db, publisher: Publisher, owned: readonly number[] = [0]) {
  const logger = createLogger('spec', 'silent')
  return createOutboxDrain({ db, publisher, logger, owned: () => owned, partitionOf: async () => 0 })
}

async function readOut({ topic, connection }: GivenLog): Promise<string[]> {
  const values: string[] = []
  const reader = createLogReader(connection)
  const onBatch = ({ records }: { records: readonly { value: Buffer | null }[] }) =>
    void values.push(...records.map(({ value }) => String(value)))
  await reader.readFrom(`${topic}.out`, new Map([[0, 0n]]), onBatch, { until: 'end' })
  return values
}

async function readLeft(db: Db): Promise<string[]> {
  const rows = await db.$queryRaw<{ value: string }[]>(sql`SELECT value FROM outbox ORDER BY sequence`)
  return rows.map(({ value }) => value)
}

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index))

describe('the outbox', () => {
  it('is published in order and emptied, however long it is and however often it is asked to', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    await givenOutbox(db, log, 0, numbers(350))
    const { drain } = givenDrain(db, log.publisher)
    await Promise.all([drain(), drain(), drain()])
    expect(await readOut(log)).toEqual(numbers(350))
    expect(await readLeft(db)).toEqual([])
  })

  it('keeps what was not published, and all behind it, for the next time', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    await givenOutbox(db, log, 0, numbers(5))
    let isFull = true
    const publisher: Publisher = {
      ...log.publisher,
      publish: async (record, deadlineAt) =>
        isFull && record.value === '2'
          ? { outcome: 'not-published', reason: 'queue-full' }
          : log.publisher.publish(record, deadlineAt),
    }
    const { drain } = givenDrain(db, publisher)
    await drain()
    expect(await readLeft(db)).toEqual(['2', '3', '4'])
    isFull = false
    await drain()
    expect(await readLeft(db)).toEqual([])
    expect((await readOut(log)).slice(-3)).toEqual(['2', '3', '4'])
  })

  it('is drained by the owner of the partition alone', async () => {
    const log = await givenLog()
    const { db } = await givenVisitsDatabase()
    await givenOutbox(db, log, 0, ['ours'])
    await givenOutbox(db, log, 1, ['theirs'])
    await givenDrain(db, log.publisher, [0, 2]).drain()
    expect(await readOut(log)).toEqual(['ours'])
    expect(await readLeft(db)).toEqual(['theirs'])
  })
})
