import { randomUUID } from 'node:crypto'
import { encodeRecord, type EventTracked, meteringCalls, type Reservation } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import { createPublisher } from '@nextvisit/log'
import { createTestTopic, PATIENT_REQUESTS } from '@nextvisit/testing'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { givenReplay, onTopic } from '../../test/given-replay.ts'
import { askConsumer } from '../../test/ask-consumer.ts'
import { consumerNamed } from '../environment/consumer-database.ts'

const EVENTS = 400

async function givenMetering() {
  const { topic, connection } = await createTestTopic(inject('kafkaBrokers'))
  const metering = consumerNamed('metering')
  const given = await givenReplay(onTopic(metering, topic), { connection })
  const { onFailure } = await given.startLive()
  return { ...given, topic, connection, onFailure, asks: askConsumer(metering, meteringCalls, given.db) }
}

function reservationOf(recordId: string): Reservation {
  const place = { organization: 'acme', project: 'shop', month: '2026-11' }
  return { kind: 'event', ...place, recordId, partition: 0, limit: 1_000_000 }
}

async function readLedger(db: Db) {
  const [counter] = await db.$queryRaw<{ count: bigint; pending: bigint }[]>(sql`
    SELECT sum(count)::bigint AS count, (SELECT sum(units) FROM reserved_room)::bigint - sum(fulfilled)::bigint AS pending
    FROM counters WHERE kind = 'event'`)
  const units = await db.$queryRaw<{ unit: string }[]>(sql`SELECT unit FROM reservations ORDER BY unit`)
  return { count: Number(counter?.count), pending: Number(counter?.pending), units: units.map(({ unit }) => unit) }
}

describe('a replay of metering', () => {
  it('neither loses nor doubles a reservation that is made, folded or returned during the swap', async () => {
    const { db, topic, connection, onFailure, replay, asks } = await givenMetering()
    const publisher = createPublisher(connection, PATIENT_REQUESTS)
    await publisher.start()
    onTestFinished(() => publisher.stop(1_000))
    const held = new Set<string>()
    let folded = 0
    /** Makes a published, a kept and a returned reservation, and a lease of three units with the same outcomes. */
    const admit = async (): Promise<void> => {
      await Promise.all([reserve(), lease()])
    }
    const publish = async (fact: EventTracked): Promise<void> => {
      const { value, headers } = encodeRecord(fact, { source: 'test', time: fact.received })
      const record = { topic, partition: 0, key: fact.userId, value, headers }
      const { outcome } = await publisher.publish(record, performance.now() + 10_000)
      expect(outcome).toBe('published')
      folded += 1
    }
    const lease = async (): Promise<void> => {
      const id = randomUUID()
      const room = { organization: 'acme', month: '2026-11' }
      const leases = [{ lease: id, partition: 0, units: 3 }]
      const questions = [{ ...room, limit: 1_000_000, leases }]
      expect(await asks.lease({ questions })).toMatchObject({ answer: { answers: [true] } })
      held.add(id)
      await publish(eventTracked({ id: randomUUID(), received: '2026-11-02T10:00:00.000Z', lease: id }))
      await asks.returnLeased({ questions: [[{ ...room, lease: id, units: 1 }]] })
    }
    const reserve = async (): Promise<void> => {
      const [published, kept, returned] = [randomUUID(), randomUUID(), randomUUID()]
      const questions = [published, kept, returned].map(reservationOf)
      expect(await asks.reserve({ questions })).toMatchObject({
        answer: { answers: ['granted', 'granted', 'granted'] },
      })
      held.add(kept)
      await publish(eventTracked({ id: published, received: '2026-11-02T10:00:00.000Z' }))
      await asks.release({ questions: [{ organization: 'acme', recordId: returned }] })
    }
    for (let from = 0; from < EVENTS; from += 20) await Promise.all(Array.from({ length: 20 }, admit))
    const stop = new AbortController()
    const load = (async () => {
      while (!stop.signal.aborted) await Promise.all(Array.from({ length: 4 }, admit))
    })()
    const { outcome, comparisons } = await replay().finally(() => stop.abort())
    await load
    expect(outcome).toBe('swapped')
    expect(comparisons.flatMap(({ onlyLive, onlyRebuilt }) => [onlyLive, onlyRebuilt]).some((rows) => rows > 0)).toBe(
      false,
    )
    const expected = { count: folded, pending: held.size, units: [...held].toSorted() }
    await expect.poll(() => readLedger(db), { timeout: 20_000 }).toEqual(expected)
    expect(onFailure).not.toHaveBeenCalled()
  })
})
