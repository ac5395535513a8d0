import CircuitBreaker from 'opossum'
import type { Logger } from './logger.ts'

export interface Breaker<Arguments extends unknown[], Result> {
  /** Rejects at once while the breaker is open, and with the action's own error otherwise. */
  readonly fire: (...given: Arguments) => Promise<Result>
  /** Calls would be refused at once; the next trial is still to come. */
  readonly isOpen: () => boolean
  readonly stop: () => void
}

/** Who is told of breakers: the log of each change, `onState` also of the state that each begins in. */
export interface BreakerWatch {
  readonly logger: Logger
  readonly onState: (breaker: string, isOpen: boolean) => void
}

/**
 * Fails fast while what an action needs is away, and lets one call through every `retryAfterMs` to find out. The action
 * keeps its own deadline: an opossum timeout would not cancel it. No cache, no coalescing: answers belong to one caller.
 */
export function createBreaker<Arguments extends unknown[], Result>(
  name: string,
  action: (...given: Arguments) => Promise<Result>,
  { logger, onState }: BreakerWatch,
  retryAfterMs = 1_000,
): Breaker<Arguments, Result> {
  const circuit = new CircuitBreaker(action, {
    name,
    timeout: false,
    errorThresholdPercentage: 50,
    volumeThreshold: 4,
    rollingCountTimeout: 5_000,
    resetTimeout: retryAfterMs,
    rollingPercentilesEnabled: false,
  })
  onState(name, false)
  circuit.on('open', () => {
    onState(name, true)
    logger.warn({ breaker: name }, `${name} is away: failing fast`)
  })
  circuit.on('close', () => {
    onState(name, false)
    logger.info({ breaker: name }, `${name} is back`)
  })
  return {
    fire: (...given) => circuit.fire(...given),
    isOpen: () => circuit.opened,
    stop: () => circuit.shutdown(),
  }
}
