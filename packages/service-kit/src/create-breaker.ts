import CircuitBreaker from 'opossum'
import type { Logger } from 'pino'

/** Where changes of a breaker are reported. `onState` also gets the state that each breaker begins in. */
export interface BreakerWatch {
  readonly logger: Logger
  readonly onState: (breaker: string, isOpen: boolean) => void
}

export type Breaker = ReturnType<typeof createBreaker>

/**
 * Fails fast while a part is unavailable, and lets one call through every `retryAfterMs` to find out. Each action keeps
 * its own deadline: an opossum timeout would not cancel it. No cache, no coalescing: an answer belongs to one caller.
 */
export function createBreaker(name: string, { logger, onState }: BreakerWatch, retryAfterMs = 1_000) {
  const circuit = new CircuitBreaker((action: () => Promise<void>) => action(), {
    name,
    timeout: false,
    errorThresholdPercentage: 50,
    volumeThreshold: 4,
    rollingCountTimeout: 5_000,
    resetTimeout: retryAfterMs,
    rollingPercentilesEnabled: false,
    enableSnapshots: false,
  })
  onState(name, false)
  circuit.on('open', () => {
    onState(name, true)
    logger.warn({ breaker: name }, `${name} is unavailable: failing fast`)
  })
  circuit.on('close', () => {
    onState(name, false)
    logger.info({ breaker: name }, `${name} is back`)
  })
  const isTrying = () => circuit.halfOpen && !circuit.pendingClose
  return {
    /** Never rejects. `otherwise` is the result while the breaker is open, and of an action that rejects. */
    run: async <Result>(
      action: () => Promise<Result>,
      isFailure: (result: Result) => boolean,
      otherwise: Result,
    ): Promise<Result> => {
      let result = otherwise
      const counted = circuit.fire(async () => {
        result = await action()
        if (isFailure(result)) throw new Error('The breaker counts this as a failure')
      })
      await counted.catch(() => undefined)
      return result
    },
    /** Calls fail at once: the next trial is still to come, or is not over. */
    isOpen: () => circuit.opened || isTrying(),
    /** A trial is not over. */
    isTrying,
    stop: () => circuit.shutdown(),
  }
}
