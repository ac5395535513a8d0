import { expect, it, onTestFinished, vi } from 'vitest'
import { createRefusalWarning } from './warn-of-refusals.ts'

it('logs a line a minute, with the number of omitted refusals and without users', () => {
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
    ['@nextvisit/client: track was refused with 401: Invalid or missing API key. Set onRefused to handle refusals.'],
    [
      '@nextvisit/client: track was refused with 401: Invalid or missing API key. 2 more were refused since the previous line. Set onRefused to handle refusals.',
    ],
  ])
})
