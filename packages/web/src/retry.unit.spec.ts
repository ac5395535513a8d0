import { describe, expect, it } from 'vitest'
import { isRetryable, retryDelayMs } from './retry.ts'

describe('isRetryable', () => {
  it.each([408, 409, 429, 500, 502, 503, 504])('is true for status %i', (status) =>
    expect(isRetryable(status)).toBe(true),
  )
  it.each([200, 202, 400, 401, 402, 403, 404, 413, 415, 422])('is false for status %i', (status) =>
    expect(isRetryable(status)).toBe(false),
  )
})

describe('the delay before a retry', () => {
  it.each([
    [1, 500, 1_000],
    [2, 1_000, 2_000],
    [5, 8_000, 16_000],
    [7, 32_000, 64_000],
    [10, 150_000, 300_000],
    [2_000, 150_000, 300_000],
  ])('after failure %i is between %i and %i ms', (failures, shortest, longest) => {
    expect(retryDelayMs(failures, 0, 0)).toBe(shortest)
    expect(retryDelayMs(failures, 0, 1)).toBe(longest)
  })

  it('is never shorter than Retry-After, and differs between pages that were refused at once', () => {
    expect(retryDelayMs(1, 7_000, 0)).toBe(7_000)
    expect(retryDelayMs(1, 7_000, 0.5)).toBe(7_250)
  })

  it('is at most slightly more than an hour for any Retry-After', () => {
    expect(retryDelayMs(1, 30 * 86_400_000, 0)).toBe(3_600_000)
    expect(retryDelayMs(1, Infinity, 0)).toBe(3_600_000)
  })
})
