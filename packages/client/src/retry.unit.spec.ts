import { describe, expect, it } from 'vitest'
import { isRetryable, parseRetryAfter, retryDelayMs } from './retry.ts'

describe('a retry', () => {
  it('doubles after each failure, up to 10 s, minus a random half', () => {
    const longest = [1, 2, 3, 4, 5, 6, 7, 8, 1_000].map((failures) => retryDelayMs(failures, 0, 1))
    expect(longest).toEqual([200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000, 10_000])
    expect([1, 2, 7].map((failures) => retryDelayMs(failures, 0, 0))).toEqual([100, 200, 5_000])
  })

  it('is never shorter than Retry-After, and random even then', () => {
    expect([0, 0.5].map((random) => retryDelayMs(1, 3_000, random))).toEqual([3_000, 3_050])
    expect(retryDelayMs(7, 3_000, 0)).toBe(5_000)
  })

  it('reads Retry-After as seconds or as a date', () => {
    const now = Date.parse('2026-11-02T10:00:00Z')
    const headers = [
      '2',
      '0.5',
      'Mon, 02 Nov 2026 10:00:03 GMT',
      'Mon, 02 Nov 2026 09:00:00 GMT',
      '-1',
      'soon',
      '',
      null,
    ]
    expect(headers.map((header) => parseRetryAfter(header, now))).toEqual([2_000, 500, 3_000, 0, 0, 0, 0, 0])
  })

  it('honours at most 5 minutes of Retry-After', () => {
    const headers = ['300', '301', '2592000', 'Infinity', 'Wed, 02 Dec 2026 10:00:00 GMT']
    const now = Date.parse('2026-11-02T10:00:00Z')
    expect(headers.map((header) => parseRetryAfter(header, now))).toEqual(headers.map(() => 300_000))
  })

  it('applies to statuses that may succeed unchanged', () => {
    const statuses = [200, 202, 400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504]
    expect(statuses.filter(isRetryable)).toEqual([408, 409, 429, 500, 502, 503, 504])
  })
})
