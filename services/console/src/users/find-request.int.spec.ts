import { randomUUIDv7 } from 'node:crypto'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { createTestTopic } from '@nextvisit/testing'
import { expect, inject, it } from 'vitest'
import { publishFacts } from '../../test/publish-facts.ts'
import { findRequest } from './find-request.ts'

/** Number of records in one batch of a reader. */
const BATCH = 500

it('findRequest distinguishes a request without a record from one beyond the records that are read', async () => {
  const { connection, topic } = await createTestTopic(inject('kafkaBrokers'))
  const facts = Array.from({ length: BATCH + 1 }, () => eventTracked({ id: randomUUIDv7() }))
  await publishFacts(connection, topic, facts)

  const find = (id = '', maxRecords = BATCH) => findRequest(connection, id, { topic, maxRecords })
  const [first, last] = [facts[0], facts.at(-1)]
  expect(await find(first?.id)).toEqual({ outcome: 'found', fact: first })
  expect(await find(last?.id)).toMatchObject({ outcome: 'too-many-records', read: BATCH })
  expect(await find(last?.id, BATCH + 1)).toEqual({ outcome: 'found', fact: last })
  expect(await find(randomUUIDv7(), BATCH + 1)).toEqual({ outcome: 'missing' })
})

it('findRequest ends with its request', async () => {
  const { connection, topic } = await createTestTopic(inject('kafkaBrokers'))
  await publishFacts(connection, topic, [eventTracked({ id: randomUUIDv7() })])
  const signal = AbortSignal.abort(new Error('gone'))
  await expect(findRequest(connection, randomUUIDv7(), { topic, signal })).rejects.toThrow('gone')
})
