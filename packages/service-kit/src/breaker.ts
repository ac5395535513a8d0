import CircuitBreaker from 'opossum'
import type { Logger } from 'pino'
import type { DependencyLog } from './dependency-log.ts'

/** Receives the changes of breakers. `onState` also gets the first state of each. */
export interface BreakerWatch {
  readonly logger: Logger
  /** Takes note of each answer and failure. */
  readonly dependencies: Pick<DependencyLog, 'noteOf'>
  readonly onState: (breaker: string, isOpen: boolean) => void
}

interface BreakerOptions {
  /** The dependency that the log names. Default: the name of the breaker, which may be about a part of it. */
  readonly dependency?: string
  readonly retryAfterMs?: number
}

export type Breaker = ReturnType<typeof createBreaker>

/**
 * Creates a breaker that fails fast while a part is unavailable, and lets one call through every `retryAfterMs` as a trial.
 * Each action keeps its own deadline, because an opossum timeout would not cancel it. Nothing is cached or shared: an answer
 * belongs to one caller.
 */
export function createBreaker(
  name: string,
  { logger, dependencies, onState }: BreakerWatch,
  { dependency = name, retryAfterMs = 1_000 }: BreakerOptions = {},
) {
  const note = dependencies.noteOf(dependency, name)
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
    logger.debug({ breaker: name }, `${name} fails fast`)
  })
  circuit.on('close', () => {
    onState(name, false)
    logger.debug({ breaker: name }, `${name} is asked again`)
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
        let isAnswered = false
        try {
          result = await action()
          isAnswered = !isFailure(result)
        } finally {
          note(isAnswered)
        }
        if (!isAnswered) throw new Error('The breaker counts this as a failure')
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
