import type { Logger } from 'pino'

/** Where changes of a breaker are reported. `onState` also gets the state that each breaker begins in. */
export interface BreakerWatch {
  readonly logger: Logger
  readonly onState: (breaker: string, isOpen: boolean) => void
}

/** It opens where more than half of at least so many calls failed in the last seconds. */
const MIN_CALLS = 4
/** Calls are counted in two windows, this one and the last: over 2.5 to 5 seconds. */
const WINDOW_MS = 2_500
const noCalls = () => ({ calls: 0, failures: 0 })

/**
 * Fails fast while a part is unavailable, and lets one call through every `retryAfterMs` to find out. Each action keeps
 * its own deadline. No cache, no coalescing: an answer belongs to one caller. It is our own because every request passes
 * one, and a library's cost five times as much (docs/performance.md).
 */
export function createBreaker(name: string, { logger, onState }: BreakerWatch, retryAfterMs = 1_000) {
  let state: 'closed' | 'open' | 'trying' = 'closed'
  let retryAt = 0
  let last = noCalls()
  let current = noCalls()
  let windowEndsAt = 0

  function open(): void {
    if (state === 'closed') {
      onState(name, true)
      logger.warn({ breaker: name }, `${name} is unavailable: failing fast`)
    }
    state = 'open'
    retryAt = performance.now() + retryAfterMs
  }

  function close(): void {
    state = 'closed'
    last = noCalls()
    current = noCalls()
    onState(name, false)
    logger.info({ breaker: name }, `${name} is back`)
  }

  /** The window that a call belongs to. What began before the breaker opened belongs to none of the two that count. */
  function countCall(): typeof current {
    const now = performance.now()
    if (now >= windowEndsAt) {
      last = now < windowEndsAt + WINDOW_MS ? current : noCalls()
      current = noCalls()
      windowEndsAt = now + WINDOW_MS
    }
    current.calls += 1
    return current
  }

  function countFailure(window: typeof current): void {
    window.failures += 1
    const [calls, failures] = [last.calls + current.calls, last.failures + current.failures]
    if (calls >= MIN_CALLS && failures > calls / 2) open()
  }

  onState(name, false)
  const isOpen = () => state === 'trying' || (state === 'open' && performance.now() < retryAt)
  return {
    /** Never rejects. `otherwise` is the result while the breaker is open, and of an action that rejects. */
    run: async <Result>(
      action: () => Promise<Result>,
      isFailure: (result: Result) => boolean,
      otherwise: Result,
    ): Promise<Result> => {
      if (isOpen()) return otherwise
      const window = state === 'closed' ? countCall() : undefined
      if (!window) state = 'trying'
      let result = otherwise
      let hasFailed = true
      try {
        result = await action()
        hasFailed = isFailure(result)
      } catch {
        // Counted as a failure below.
      }
      if (!window) (hasFailed ? open : close)()
      else if (hasFailed && state === 'closed') countFailure(window)
      return result
    },
    /** Calls fail at once: the next trial is still to come, or is not over. */
    isOpen,
    /** A trial is not over. */
    isTrying: () => state === 'trying',
  }
}
