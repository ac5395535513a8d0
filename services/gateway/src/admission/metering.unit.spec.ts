import type { Reservation } from '@nextvisit/contracts'
import type { ServiceClient } from '@nextvisit/service-kit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { outlastsRoomLease, REQUEST_BUDGET_MS, ROOM_LEASE_MS } from '../http/budget.ts'
import { createMetering } from './metering.ts'

const RESERVATION = {
  kind: 'event',
  organization: 'acme',
  project: 'shop',
  month: '2026-11',
  limit: 1_000,
  partition: 0,
  recordId: 'a record',
} as const satisfies Reservation

const read = () => Promise.reject(new Error('Nothing is read'))

/** The clients of metering, and the routes that they called. Metering leases what it is asked for. */
function givenMetering(requestBudgetMs: number, isHeld: (calls: readonly string[]) => boolean) {
  const calls: string[] = []
  const batched: ServiceClient['batched'] = ({ route, answersOf }) => {
    return async (question) => {
      calls.push(route)
      const body = { granted: [true], verdicts: [isHeld(calls) ? 'held' : 'granted'] } as never
      const [answer] = answersOf(body, [question])
      return answer === undefined ? { outcome: 'unavailable' } : { outcome: 'answered', answer }
    }
  }
  const metering = createMetering({ batched, read, stop: () => undefined }, requestBudgetMs)
  return { metering, calls }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

it('gives back its own leases before it asks again for room that is held', async () => {
  const { metering, calls } = givenMetering(REQUEST_BUDGET_MS, (before) => !before.includes('returnLeased'))
  for (let event = 0; event < 8; event += 1) metering.takeLeased(RESERVATION)
  await vi.advanceTimersByTimeAsync(100)
  expect(metering.takeLeased(RESERVATION)).toBeDefined()
  const reserved = metering.reserveEvent(RESERVATION, performance.now() + 1_000)
  await vi.advanceTimersByTimeAsync(20)
  expect(await reserved).toBe('granted')
  expect(calls).toEqual(['lease', 'reserve', 'returnLeased', 'reserve'])
})

describe('room that another gateway has leased, and gives back when the lease ends', () => {
  it.each([200, 1_000, 1_600, 1_667, REQUEST_BUDGET_MS, 5_000])(
    'is waited for, or no gateway leases: a budget of %i ms',
    async (requestBudgetMs) => {
      const returnedAt = performance.now() + ROOM_LEASE_MS + 50
      const { metering, calls } = givenMetering(requestBudgetMs, () => performance.now() < returnedAt)
      const reserved = metering.reserveEvent(RESERVATION, performance.now() + requestBudgetMs / 2)
      await vi.advanceTimersByTimeAsync(requestBudgetMs)
      const isWaitedFor = (await reserved) === 'granted'
      for (let event = 0; event < 8; event += 1) metering.takeLeased(RESERVATION)
      await vi.advanceTimersByTimeAsync(100)
      expect(isWaitedFor || !calls.includes('lease')).toBe(true)
      expect(calls.includes('lease')).toBe(outlastsRoomLease(requestBudgetMs))
    },
  )
})
