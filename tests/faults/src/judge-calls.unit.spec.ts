import { describe, expect, it } from 'vitest'
import type { RecordedCall } from './recording-client.ts'
import { isCalm, judgeCalls } from './judge-calls.ts'

const ROUTES = [
  '/v2/admin/identify-user',
  '/v2/admin/track-event',
  '/v2/sdk/identify-user',
  '/v2/sdk/track-event',
  '/v2/sdk/answers',
] as const

const call = (status: number | undefined, sentAt = 0, keyed = false): RecordedCall => ({
  route: ROUTES[0],
  organization: 'acme',
  project: 'shop',
  userName: 'ada',
  status,
  requestId: undefined,
  keyed,
  sentAt,
  elapsedMs: 1,
})
const onEach = (sentAt: number) => ROUTES.map((route) => ({ ...call(202, sentAt), route }))
const kindsOf = (calls: readonly RecordedCall[], isReady = true) =>
  judgeCalls(calls, { isReady, calmSince: 10 }).map(({ kind, count }) => `${kind} ${count}`)

describe('errors in the answers of a run', () => {
  it('are none if requests fail only during the fault', () => {
    expect(kindsOf([call(503), call(undefined), call(409, 0, true), call(503, 10), call(202, 11)])).toEqual([])
  })

  it('include an answer that no fault permits', () => {
    expect(kindsOf([call(500), call(409), call(402), call(200, 11)])).toEqual(['answers: unexpected 3'])
  })

  it('include a gateway that never recovers', () => {
    expect(kindsOf([call(200), call(503, 11)])).toEqual(['answers: none again 1'])
    expect(kindsOf([call(200), call(200, 11)], false)).toEqual(['not ready again 1'])
  })
})

describe('calm', () => {
  it('is reached when no request has failed for three seconds and each route was acknowledged', () => {
    expect(isCalm(onEach(100), 10, 3_010)).toBe(true)
    expect(isCalm(onEach(100), 10, 3_009)).toBe(false)
    expect(isCalm(onEach(100).slice(1), 10, 9_000)).toBe(false)
    expect(isCalm(onEach(5), 10, 9_000)).toBe(false)
  })

  it('starts over with each failed request', () => {
    const calls = [...onEach(100), call(503, 2_000), ...onEach(2_100)]
    expect(isCalm(calls, 10, 4_000)).toBe(false)
    expect(isCalm(calls, 10, 5_001)).toBe(true)
    expect(isCalm(calls.slice(0, ROUTES.length + 1), 10, 5_001), 'nothing was acknowledged since').toBe(false)
  })
})
