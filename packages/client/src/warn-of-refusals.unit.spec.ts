import { expect, it, onTestFinished, vi } from 'vitest'
import { createRefusalWarning } from './warn-of-refusals.ts'

it('writes a line a minute, which says how many it left out and names no user', () => {
  const lines = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  vi.useFakeTimers()
  onTestFinished(() => {
    vi.useRealTimers()
    lines.mockRestore()
  })
  const warn = createRefusalWarning()
  const refuse = () =>
    warn(
      { status: 401, error: 'Unauthorized', message: 'Invalid or missing API key' },
      { type: 'track', userName: 'ada', eventName: 'a', idempotencyKey: 'k' },
    )
  for (const pauseMs of [0, 10, 59_000, 1_000, 0]) {
    vi.advanceTimersByTime(pauseMs)
    refuse()
  }
  expect(lines.mock.calls).toEqual([
    ['@nextvisit/client: track was refused with 401: Invalid or missing API key. onRefused is told of each.'],
    [
      '@nextvisit/client: track was refused with 401: Invalid or missing API key. 2 more were refused since the line before this one. onRefused is told of each.',
    ],
  ])
})
