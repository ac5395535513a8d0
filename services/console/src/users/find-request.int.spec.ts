import { randomUUIDv7 } from 'node:crypto'
import { encodeRecord } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { createPublisher } from '@nextvisit/log'
import { createTestTopic } from '@nextvisit/testing'
import { expect, inject, it } from 'vitest'
import { findRequest } from './find-request.ts'

/** Number of records in one batch of a reader. */
const BATCH = 1_000

it('findRequest distinguishes a request without a record from one beyond the records that are read', async () => {
  const { connection, topic } = await createTestTopic(inject('kafkaBrokers'))
  const facts = Array.from({ length: BATCH + 1 }, () => eventTracked({ id: randomUUIDv7() }))
  const publisher = createPublisher(connection)
  await publisher.start()
  const deadlineAt = performance.now() + 30_000
  const published = await Promise.all(
    facts.map((fact) => {
      const record = encodeRecord(fact, { source: 'gateway', time: fact.received })
      return publisher.publish({ topic, partition: 0, key: fact.userId, ...record }, deadlineAt)
    }),
  )
  await publisher.stop(1_000)
  expect(new Set(published.map(({ outcome }) => outcome))).toEqual(new Set(['published']))

  const find = (id = '', maxRecords = BATCH) => findRequest(connection, id, { topic, maxRecords })
  const [first, last] = [facts[0], facts.at(-1)]
  expect(await find(first?.id)).toEqual({ outcome: 'found', fact: first })
  expect(await find(last?.id)).toMatchObject({ outcome: 'too-many-records', read: BATCH })
  expect(await find(last?.id, BATCH + 1)).toEqual({ outcome: 'found', fact: last })
  expect(await find(randomUUIDv7(), BATCH + 1)).toEqual({ outcome: 'missing' })
})
