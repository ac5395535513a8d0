import { createLogAdmin, type Watermarks } from '@nextvisit/log'
import { describe, expect, it, onTestFinished } from 'vitest'
import { givenEvents, givenLog, PARTITIONS } from '../../test/given-log.ts'
import { givenRunner } from '../../test/given-runner.ts'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import { countVisits } from '../../test/visits-projection.ts'
import { catchUp, createBarrier } from './barrier.ts'

type Ends = ReadonlyMap<number, Watermarks>

const all = Array.from({ length: PARTITIONS }, (_, partition) => partition)

async function givenBarrier() {
  const log = await givenLog()
  const { db } = await givenVisitsDatabase()
  const logAdmin = createLogAdmin(log.connection)
  await logAdmin.connect()
  onTestFinished(logAdmin.disconnect)
  return { log, db, logAdmin, barrier: createBarrier({ db, logAdmin, projection: 'visits', topic: log.topic }) }
}

describe('a barrier', () => {
  it('ends only once every record that was in the log is folded', async () => {
    const { log, db, barrier } = await givenBarrier()
    await log.publish(givenEvents(200))
    await expect(barrier(all, AbortSignal.timeout(200))).rejects.toThrow('aborted due to timeout')
    await givenRunner(log, db)
    await barrier(all, AbortSignal.timeout(20_000))
    expect(await countVisits(db)).toBe(200)
  })

  it('fetches gathered records at each poll while a caller waits', async () => {
    const { log, db, logAdmin } = await givenBarrier()
    const { runner } = await givenRunner(log, db, { fetchPauseMs: 600_000 })
    const barrier = createBarrier({ db, logAdmin, fetchNow: runner.fetchNow, projection: 'visits', topic: log.topic })
    for (let round = 1; round <= 3; round++) {
      await log.publish(givenEvents(2))
      await barrier(all, AbortSignal.timeout(20_000))
      expect(await countVisits(db)).toBe(round * 2)
    }
  })

  it('makes the records that were published before a call visible to each concurrent caller', async () => {
    const { log, db, barrier } = await givenBarrier()
    await givenRunner(log, db)
    for (let round = 1; round <= 10; round++) {
      await Promise.all(
        Array.from({ length: 5 }, async () => {
          await log.publish(givenEvents(2))
          await barrier(all, AbortSignal.timeout(20_000))
        }),
      )
      expect(await countVisits(db)).toBe(round * 10)
    }
  })

  it('does not use an end of the log whose read began before the call', async () => {
    const { db } = await givenVisitsDatabase()
    const looks = [Promise.withResolvers<Ends>(), Promise.withResolvers<Ends>()]
    let looked = 0
    const watermarks = () => looks[looked++]?.promise ?? Promise.reject(new Error('nobody asked'))
    const barrier = createBarrier({ db, logAdmin: { watermarks }, projection: 'visits', topic: 'slow' })
    const first = barrier([0], AbortSignal.timeout(20_000))
    const later = [1, 2].map(() => barrier([0], AbortSignal.timeout(300)))
    looks[0]?.resolve(new Map([[0, { low: 0n, high: 0n }]]))
    looks[1]?.resolve(new Map([[0, { low: 0n, high: 1n }]]))
    await first
    for (const one of later) await expect(one).rejects.toThrow('aborted due to timeout')
    expect(looked).toBe(2)
  })

  it('does not end for a partition that the topic does not have', async () => {
    const { barrier } = await givenBarrier()
    await expect(barrier([PARTITIONS], AbortSignal.timeout(200))).rejects.toThrow('aborted due to timeout')
  })

  it('ends when its signal is aborted, even while Kafka does not answer', async () => {
    const { db } = await givenVisitsDatabase()
    const logAdmin = { watermarks: () => Promise.withResolvers<never>().promise }
    const barrier = createBarrier({ db, logAdmin, projection: 'visits', topic: 'silent' })
    await expect(barrier([0], AbortSignal.timeout(50))).rejects.toThrow('aborted due to timeout')
    await expect(barrier([0], AbortSignal.abort())).rejects.toThrow('aborted')
  })
})

describe('a read that wants the latest records', () => {
  it('is answered in time while Kafka does not return the number of partitions', async () => {
    const { signal } = new AbortController()
    const read = catchUp('all users', {
      barrier: async () => {},
      countKeyPartitions: () => Promise.withResolvers<never>().promise,
      signal,
      deadlineAt: performance.now() + 2_000,
      withinMs: 50,
    })
    await expect(read).resolves.toBe(false)
  })
})
