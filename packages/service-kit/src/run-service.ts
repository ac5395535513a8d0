import type { Logger } from 'pino'

/** A part of a service, started once and stopped once. `stop` is called only after `start` has resolved. */
export interface ServicePart {
  readonly name: string
  readonly start: () => Promise<unknown>
  readonly stop: () => Promise<unknown>
}

interface RunServiceOptions {
  readonly logger: Logger
  /** Started in this order, stopped in reverse. */
  readonly parts: readonly ServicePart[]
  /** Maximum duration of a stop; then the process ends. */
  readonly stopWithinMs?: number
}

interface RunningService {
  /** Reports a part that cannot continue, such as a crashed consumer: stops the others and exits with 1. */
  readonly fail: (error: unknown) => void
}

/**
 * Runs a service until SIGTERM or SIGINT (exit 0) or a failure (exit 1): a part that does not start, `fail`, an uncaught
 * exception. Then stops the started parts in reverse order. A second signal, or a stop that takes too long, ends the process
 * at once with 1.
 */
export function runService({ logger, parts, stopWithinMs = 10_000 }: RunServiceOptions): RunningService {
  const started: ServicePart[] = []
  let isEnding = false

  async function start(): Promise<void> {
    for (const part of parts) {
      const beganAt = performance.now()
      await part.start()
      if (isEnding) return
      started.push(part)
      logger.info({ part: part.name, durationMs: Math.round(performance.now() - beganAt) }, `started ${part.name}`)
    }
    logger.info({}, 'running')
  }

  async function end(exitCode: number): Promise<void> {
    if (isEnding) return
    isEnding = true
    setTimeout(() => {
      logger.fatal({ stopWithinMs }, 'stopping took too long; ending now')
      process.exit(1)
    }, stopWithinMs)
    process.exit(Math.max(exitCode, await stopAll()))
  }

  async function stopAll(): Promise<number> {
    let exitCode = 0
    for (const part of started.toReversed()) {
      try {
        await part.stop()
        logger.info({ part: part.name }, `stopped ${part.name}`)
      } catch (err) {
        exitCode = 1
        logger.error({ err, part: part.name }, `could not stop ${part.name}; stopping the others`)
      }
    }
    return exitCode
  }

  function fail(err: unknown): void {
    logger.fatal({ err }, isEnding ? 'failed while stopping' : 'failed; stopping')
    void end(1)
  }

  function onSignal(signal: NodeJS.Signals): void {
    if (isEnding) {
      logger.fatal({ signal }, 'signalled again; ending now')
      process.exit(1)
    }
    logger.info({ signal }, 'stopping')
    void end(0)
  }

  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', fail)
  start().catch((err: unknown) => {
    if (!isEnding) fail(err)
  })
  return { fail }
}
