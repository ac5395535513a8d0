import type { Reservation } from '@nextvisit/contracts'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createMetering } from './metering.ts'
import type { ServiceClient } from './service-client.ts'

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

it('gives back its own leases before it asks again for room that is held', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const calls: string[] = []
  const batched: ServiceClient['batched'] = ({ route, answersOf }) => {
    return async (question) => {
      calls.push(route)
      const isFree = calls.includes('returnLeased')
      const body = { granted: [true], verdicts: [isFree ? 'granted' : 'held'] } as never
      const [answer] = answersOf(body, [question])
      return answer === undefined ? { outcome: 'unavailable' } : { outcome: 'answered', answer }
    }
  }
  const metering = createMetering({ batched, read, stop: () => undefined }, 2_000)
  for (let event = 0; event < 8; event += 1) metering.takeLeased(RESERVATION)
  await vi.advanceTimersByTimeAsync(100)
  expect(metering.takeLeased(RESERVATION)).toBeDefined()
  const reserved = metering.reserveEvent(RESERVATION, performance.now() + 1_000)
  await vi.advanceTimersByTimeAsync(20)
  expect(await reserved).toBe('granted')
  expect(calls).toEqual(['lease', 'reserve', 'returnLeased', 'reserve'])
})
