import { DONE, meteringCalls, type Reservation } from '@nextvisit/contracts'
import { createLocalClient, type Handlers } from '@nextvisit/service-kit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { REQUEST_BUDGET_MS } from '../http/request-budget.ts'
import { outlastsRoomLease, ROOM_LEASE_MS } from './admission-budget.ts'
import { createMetering } from './metering.ts'

const RESERVATION = {
  kind: 'event',
  organization: 'acme',
  project: 'shop',
  month: '2026-11',
  limit: 1_000,
  partition: 0,
  recordId: '0196a3a4-6c5c-7c5c-8c5c-0196a3a46c5c',
} as const satisfies Reservation

/** Metering that grants every lease, and the names of the calls to it. */
function givenMetering(requestBudgetMs: number, isHeld: (calls: readonly string[]) => boolean) {
  const calls: string[] = []
  const handlers: Handlers<typeof meteringCalls> = {
    reserve: async ({ questions }) => {
      calls.push('reserve')
      return { answers: questions.map(() => (isHeld(calls) ? 'held' : 'granted')) }
    },
    release: async ({ questions }) => {
      calls.push('release')
      return { answers: questions.map(() => DONE) }
    },
    lease: async ({ questions }) => {
      calls.push('lease')
      return { answers: questions.map(() => true) }
    },
    returnLeased: async ({ questions }) => {
      calls.push('returnLeased')
      return { answers: questions.map(() => DONE) }
    },
    readUsage: () => Promise.reject(new Error('Nothing is read')),
  }
  const metering = createMetering({ admission: createLocalClient(meteringCalls, handlers) }, requestBudgetMs)
  return { metering, calls }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

it('a gateway gives back its own leases before it asks again for held room', async () => {
  const { metering, calls } = givenMetering(REQUEST_BUDGET_MS, (before) => !before.includes('returnLeased'))
  for (let event = 0; event < 8; event += 1) metering.take(RESERVATION)
  await vi.advanceTimersByTimeAsync(100)
  expect(metering.take(RESERVATION)).toBeDefined()
  const reserved = metering.reserve(RESERVATION, performance.now() + 1_000)
  await vi.advanceTimersByTimeAsync(20)
  expect(await reserved).toMatchObject({ verdict: 'granted' })
  expect(calls).toEqual(['lease', 'reserve', 'returnLeased', 'reserve'])
})

describe('room that another gateway has leased', () => {
  it.each([200, 1_000, 1_600, 1_667, REQUEST_BUDGET_MS, 5_000])(
    'is awaited until the lease ends, or no gateway leases, with a budget of %i ms',
    async (requestBudgetMs) => {
      const returnedAt = performance.now() + ROOM_LEASE_MS + 50
      const { metering, calls } = givenMetering(requestBudgetMs, () => performance.now() < returnedAt)
      const reserved = metering.reserve(RESERVATION, performance.now() + requestBudgetMs / 2)
      await vi.advanceTimersByTimeAsync(requestBudgetMs)
      const isWaitedFor = (await reserved).verdict === 'granted'
      for (let event = 0; event < 8; event += 1) metering.take(RESERVATION)
      await vi.advanceTimersByTimeAsync(100)
      expect(isWaitedFor || !calls.includes('lease')).toBe(true)
      expect(calls.includes('lease')).toBe(outlastsRoomLease(requestBudgetMs))
    },
  )
})
