import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { areEnough, createRequestSpacing, REQUEST_SPACING_MS } from './request-spacing.ts'

/** Minimum number of records that are sent at once. */
const ENOUGH = 16

/** Sends a request of `waiting` records, `afterMs` after the last one was due. Returns its wait in ms. */
function givenRequests() {
  const spacing = createRequestSpacing()
  let nowMs = 1_000
  return (afterMs: number, records: number, waiting = 1): number => {
    nowMs += afterMs
    const waitMs = spacing.waitMs(nowMs, waiting)
    nowMs += waitMs
    spacing.noticeRequest(nowMs, records)
    return waitMs
  }
}

const waits = (count: number, send: () => number): number[] => Array.from({ length: count }, send)

describe('the spacing of requests to the log', () => {
  it('sends the first request and each one after a pause at once', () => {
    const send = givenRequests()
    expect(waits(100, () => send(REQUEST_SPACING_MS, 1))).toEqual(waits(100, () => 0))
  })

  it('delays requests for the rest of the spacing while waiting gathers records', () => {
    const send = givenRequests()
    send(0, 1)
    expect(waits(100, () => send(2, 2))).toEqual(waits(100, () => 3))
  })

  it('suspends waiting that gathers no records, and resumes after 32 requests', () => {
    const send = givenRequests()
    send(0, 1)
    expect(waits(4, () => send(2, 1))).toEqual([3, 3, 3, 3])
    expect(waits(32, () => send(2, 1))).toEqual(waits(32, () => 0))
    expect(waits(4, () => send(2, 1))).toEqual([3, 3, 3, 3])
    expect(send(2, 1)).toBe(0)
  })

  it('sends a request with enough records at once', () => {
    expect([ENOUGH - 1, ENOUGH].map(areEnough)).toEqual([false, true])
    const send = givenRequests()
    send(0, 1)
    expect(send(2, 9, ENOUGH - 1)).toBe(3)
    expect(waits(100, () => send(2, ENOUGH, ENOUGH))).toEqual(waits(100, () => 0))
    expect(send(2, 9, ENOUGH - 1)).toBe(3)
  })

  it('continues to wait while some waits gather records', () => {
    const send = givenRequests()
    send(0, 1)
    let n = 0
    expect(waits(100, () => send(2, (n += 1) % 4 === 0 ? 2 : 1))).toEqual(waits(100, () => 3))
  })

  it('never waits longer than the spacing', () => {
    // Multiples of 1/1024 ms have exact sums.
    const pauseMs = fc.integer({ min: 0, max: 20 * 1_024 }).map((parts) => parts / 1_024)
    const records = fc.integer({ min: 1, max: 2 * ENOUGH })
    const requests = fc.array(fc.tuple(pauseMs, records, records))
    fc.assert(
      fc.property(requests, (all) => {
        const send = givenRequests()
        for (const request of all) {
          const waitMs = send(...request)
          expect(waitMs).toBeGreaterThanOrEqual(0)
          expect(waitMs).toBeLessThanOrEqual(REQUEST_SPACING_MS)
        }
      }),
    )
  })
})
