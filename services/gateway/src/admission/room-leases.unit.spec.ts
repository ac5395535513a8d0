import type { LeaseQuestion, ReturnedUnits } from '@nextvisit/contracts'
import type { BatchedOutcome } from '@nextvisit/service-kit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ROOM_LEASE_MS } from './admission-budget.ts'
import { createRoomLeases } from './room-leases.ts'

const ACME = { organization: 'acme', month: '2026-11' }
const GRANTED = { outcome: 'answered', answer: true } as const
const REFUSED = { outcome: 'answered', answer: false } as const

/** Leases of a gateway, and the calls that metering gets. */
function givenLeases(
  answer: () => BatchedOutcome<boolean> | Promise<BatchedOutcome<boolean>> = () => GRANTED,
  returning?: Promise<void>,
) {
  const asked: LeaseQuestion[] = []
  const returned: ReturnedUnits[] = []
  const leases = createRoomLeases({
    ask: async (question) => {
      asked.push(question)
      return answer()
    },
    giveBack: async (units) => {
      returned.push(...units)
      await returning
    },
  })
  const take = (partition = 0, limit = 1_000) => leases.take({ ...ACME, limit, partition })
  const takeMany = (count: number, partition = 0) =>
    Array.from({ length: count }, () => take(partition)).filter((unit) => unit !== undefined)
  return { leases, asked, returned, take, takeMany }
}

/** Waits for the next lease, which takes less time than a lease lasts. */
const untilRenewed = () => vi.advanceTimersByTimeAsync(100)

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

describe('leases of room (decision 0017)', () => {
  it('are requested for many events: in each partition twice their number and a few more', async () => {
    const { asked, takeMany } = givenLeases()
    expect([...takeMany(6, 0), ...takeMany(3, 7)]).toEqual([])
    await untilRenewed()
    expect(asked).toEqual([
      {
        ...ACME,
        limit: 1_000,
        leases: [
          { lease: expect.any(String), partition: 0, units: 14 },
          { lease: expect.any(String), partition: 7, units: 8 },
        ],
      },
    ])
    expect(takeMany(20, 0)).toHaveLength(14)
    expect(takeMany(20, 7)).toHaveLength(8)
    expect(takeMany(20, 1)).toEqual([])
  })

  it('are not requested for few events, nor after the last event', async () => {
    const { asked, takeMany } = givenLeases()
    takeMany(7)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(asked).toEqual([])
    takeMany(8)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(asked).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('follow each other without a gap while events come', async () => {
    const { asked, take, takeMany } = givenLeases()
    takeMany(20)
    await untilRenewed()
    for (let moment = 0; moment < 100; moment += 1) {
      expect(take()).toBeDefined()
      await vi.advanceTimersByTimeAsync(10)
    }
    expect(asked.length).toBeGreaterThan(5)
  })

  it('end a fixed time after their request, not after the answer, and unspent units are given back', async () => {
    const answers: ((answer: BatchedOutcome<boolean>) => void)[] = []
    const { asked, returned, take, takeMany } = givenLeases(() => new Promise((resolve) => answers.push(resolve)))
    takeMany(8)
    await untilRenewed()
    await vi.advanceTimersByTimeAsync(ROOM_LEASE_MS - 1)
    answers[0]?.(GRANTED)
    await vi.advanceTimersByTimeAsync(0)
    const unit = take()
    expect(unit?.lease).toBe(asked[0]?.leases[0]?.lease)
    await vi.advanceTimersByTimeAsync(1)
    expect(take()).toBeUndefined()
    expect(returned).toEqual([{ ...ACME, lease: unit?.lease, units: 17 }])
  })

  it.each([
    ['the process stalled and is late to end them', () => performance],
    ['the machine was suspended and its monotonic clock stood still', () => Date],
  ])('are not used after their end, even if %s', async (_why, clockOf) => {
    const { take, takeMany } = givenLeases()
    takeMany(8)
    await untilRenewed()
    expect(take()).toBeDefined()
    vi.spyOn(clockOf(), 'now').mockReturnValue(clockOf().now() + ROOM_LEASE_MS)
    expect(take()).toBeUndefined()
  })

  it('are given back whole if the answer is late or missing, since they may have been granted', async () => {
    for (const outcome of [GRANTED, { outcome: 'unavailable' } as const]) {
      const answers: ((answer: BatchedOutcome<boolean>) => void)[] = []
      const { returned, take, takeMany } = givenLeases(() => new Promise((resolve) => answers.push(resolve)))
      takeMany(8)
      await untilRenewed()
      await vi.advanceTimersByTimeAsync(ROOM_LEASE_MS)
      answers[0]?.(outcome)
      await vi.advanceTimersByTimeAsync(0)
      expect(take()).toBeUndefined()
      expect(returned).toMatchObject([{ units: 18 }])
    }
  })

  it('are requested again soon after a late answer', async () => {
    for (const answer of [GRANTED, REFUSED]) {
      const answerLate = () =>
        new Promise<BatchedOutcome<boolean>>((resolve) => void setTimeout(resolve, ROOM_LEASE_MS, answer))
      const { asked, returned, takeMany } = givenLeases(answerLate)
      for (let moment = 0; moment < 50; moment += 1) {
        takeMany(10)
        await vi.advanceTimersByTimeAsync(100)
      }
      expect(asked.length).toBeGreaterThan(8)
      expect(returned).toHaveLength(answer === REFUSED ? 0 : asked.length - 1)
    }
  })

  it('are requested again after a pause if metering is unavailable, and soon if there was no room', async () => {
    for (const [answer, questions] of [
      [{ outcome: 'unavailable' } as const, 1],
      [REFUSED, 10],
    ] as const) {
      const { asked, returned, takeMany } = givenLeases(() => answer)
      for (let moment = 0; moment < 10; moment += 1) {
        expect(takeMany(10)).toEqual([])
        await vi.advanceTimersByTimeAsync(100)
      }
      expect(asked).toHaveLength(questions)
      // Without an answer, the grant is unknown.
      expect(returned).toHaveLength(answer === REFUSED ? 0 : 1)
    }
  })

  it('take back the unit of an unpublished record, for another record or, once they have ended, for metering', async () => {
    const { returned, take, takeMany } = givenLeases()
    takeMany(8)
    await untilRenewed()
    const [first, second, ...others] = takeMany(18)
    expect([take(), others.length]).toEqual([undefined, 16])
    await first?.release()
    expect(take()?.lease).toBe(first?.lease)
    await vi.advanceTimersByTimeAsync(ROOM_LEASE_MS)
    const ofFirst = () => returned.filter(({ lease }) => lease === first?.lease)
    expect(ofFirst()).toEqual([])
    await second?.release()
    await others[0]?.release()
    // Metering gets the total of the units given back so far.
    expect(ofFirst()).toEqual([1, 2].map((units) => ({ ...ACME, lease: first?.lease, units })))
  })

  it('count only for their limit and their month', async () => {
    const { leases, take, takeMany } = givenLeases()
    takeMany(8)
    await untilRenewed()
    expect(take(0, 999)).toBeUndefined()
    expect(leases.take({ ...ACME, month: '2026-12', limit: 1_000, partition: 0 })).toBeUndefined()
    expect(take(0, 1_000)).toBeDefined()
  })

  it('end at once if others wait for the room, and when the gateway stops', async () => {
    const { leases, returned, take, takeMany } = givenLeases()
    takeMany(8)
    await untilRenewed()
    take()
    leases.end(ACME)
    expect(take()).toBeUndefined()
    expect(returned).toMatchObject([{ units: 17 }])
    takeMany(8)
    await untilRenewed()
    const unit = take()
    await leases.stop()
    expect(take()).toBeUndefined()
    expect(returned.at(-1)).toMatchObject({ lease: unit?.lease, units: returned[1]?.units })
    expect(returned).toHaveLength(2)
  })
  it('of all organizations end together when the gateway stops, and none is requested meanwhile', async () => {
    const returning = Promise.withResolvers<void>()
    const { leases, asked, returned } = givenLeases(undefined, returning.promise)
    const organizations = ['acme', 'globex']
    for (const organization of organizations)
      for (let event = 0; event < 8; event += 1) leases.take({ ...ACME, organization, limit: 1_000, partition: 0 })
    await untilRenewed()
    const stopped = leases.stop()
    expect(returned.map(({ organization }) => organization)).toEqual(organizations)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(asked).toHaveLength(2)
    returning.resolve()
    await stopped
  })
})
