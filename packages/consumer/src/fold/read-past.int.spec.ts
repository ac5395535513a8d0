import { setTimeout as sleep } from 'node:timers/promises'
import { eventTracked, userErased } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { givenEvents, givenLog, type GivenLog, partitionOf } from '../../test/given-log.ts'
import { givenRunner } from '../../test/given-runner.ts'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import { createVisitsProjection } from '../../test/visits-projection.ts'
import type { TickContext, Ticks } from '../core/projection.ts'

const ADA = partitionOf('ada')
const soon = { timeout: 20_000 }
type Context = Parameters<Ticks<ReturnType<typeof eventTracked>>['tick']>[2]

/** Runs the example, whose ticks only give their context to a test: of ada's partition, once it has passed an offset. */
async function givenTicks(log: GivenLog) {
  const { db } = await givenVisitsDatabase()
  const contexts: TickContext[] = []
  const projection = createVisitsProjection(log.topic)
  await givenRunner(log, db, {
    projection: {
      ...projection,
      ticks: {
        due: projection.ticks.due,
        tick: async (_db, _instant, context) => {
          if (context.partition === ADA) contexts.push(context)
          return { statements: [] }
        },
      },
    },
  })
  /** Returns the context of a tick after at least so many records. */
  const tickAfter = async (records: number): Promise<Context> => {
    const find = () => contexts.find(({ nextOffset }) => nextOffset >= BigInt(records))
    await expect.poll(find, soon).toBeDefined()
    return find() as Context
  }
  return { tickAfter }
}

const eventsOfAda = (count: number) => givenEvents(count, () => 'ada')

describe('a tick', () => {
  it('reads folded records a second time, in parts, and none that are not folded', async () => {
    const log = await givenLog()
    const events = eventsOfAda(5_000)
    await log.publish(events)
    const { tickAfter } = await givenTicks(log)
    const context = await tickAfter(5_000)
    const read: string[] = []
    let parts = 0
    for (let from = 0n; from < 5_000n; parts += 1) {
      const { records, nextOffset } = await context.readAgain(from, 1_000)
      expect(records.length).toBeLessThan(3_000)
      expect(records[0]?.offset).toBe(from)
      read.push(...records.map(({ fact }) => fact.id))
      from = nextOffset
    }
    expect(read).toEqual(events.map(({ id }) => id))
    expect(parts).toBeGreaterThan(1)
    const inTheMiddle = await context.readAgain(4_321n, 10)
    expect(inTheMiddle.records[0]).toMatchObject({ offset: 4_321n, fact: { id: events[4_321]?.id } })
    expect(await context.readAgain(5_000n, 10)).toEqual({ records: [], nextOffset: 5_000n })
  })

  it('marks records that a later erasure covers, and leaves out those that cannot be decoded', async () => {
    const log = await givenLog()
    await log.publish([eventTracked()], ['{"broken'])
    await log.publish([userErased(), eventTracked({ userName: 'ada' })])
    const { tickAfter } = await givenTicks(log)
    const { records, nextOffset } = await (await tickAfter(4)).readAgain(0n, 100)
    expect(nextOffset).toBe(4n)
    expect(records.map(({ offset, fact, isErased }) => [offset, fact.type, isErased])).toEqual([
      [0n, 'EventTracked', true],
      [2n, 'UserErased', undefined],
      [3n, 'EventTracked', undefined],
    ])
  })

  it('finds the first record since an instant, and the end of the log if there is none', async () => {
    const log = await givenLog()
    await log.publish(eventsOfAda(3))
    await sleep(20)
    const between = Date.now()
    await sleep(20)
    await log.publish(eventsOfAda(2))
    const { tickAfter } = await givenTicks(log)
    const { offsetAt } = await tickAfter(5)
    expect(await Promise.all([0, between, Date.now() + 60_000].map(offsetAt))).toEqual([0n, 3n, 5n])
  })
})
