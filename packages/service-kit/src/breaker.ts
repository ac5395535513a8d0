import CircuitBreaker from 'opossum'
import type { Logger } from 'pino'

/** Receives the changes of breakers. `onState` also gets the first state of each. */
export interface BreakerWatch {
  readonly logger: Logger
  readonly onState: (breaker: string, isOpen: boolean) => void
}

export type Breaker = ReturnType<typeof createBreaker>

/**
 * Creates a breaker that fails fast while a part is unavailable, and lets one call through every `retryAfterMs` as a trial.
 * Each action keeps its own deadline, because an opossum timeout would not cancel it. Nothing is cached or shared: an answer
 * belongs to one caller.
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
    /** Runs an action. Never rejects: `otherwise` is the result while the breaker is open, and of a rejection. */
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
    /** Returns true while calls fail at once: until the next trial has succeeded. */
    isOpen: () => circuit.opened || isTrying(),
    /** Returns true during a trial. */
    isTrying,
    stop: () => circuit.shutdown(),
  }
}
