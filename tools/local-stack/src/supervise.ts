import { setTimeout as sleep } from 'node:timers/promises'
import { StackError } from './errors.ts'
import type { OwnedProcess } from './owned-process.ts'

/** A process that is restarted whenever it ends, until it is stopped. */
export interface Supervised {
  readonly name: string
  /** Returns the id of the current process, or of the last one. */
  readonly pid: () => number
  /** Returns the number of restarts. */
  readonly restarts: () => number
  readonly kill: (signal: NodeJS.Signals) => void
  readonly stop: () => Promise<void>
}

/** Run time after which the next wait is short again, because the process did not fail at its start. */
const STEADY_AFTER_MS = 20_000
const FIRST_ATTEMPTS = 3
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5_000

/**
 * Launches a process and keeps it running. `launch` must use the same port each time, and must stop on its signal. Rejects
 * if the first launch fails. `report` gets one line for each end.
 */
export async function supervise(
  name: string,
  launch: (signal: AbortSignal) => Promise<OwnedProcess>,
  options: { readonly report: (line: string) => void; readonly signal?: AbortSignal },
): Promise<Supervised> {
  const stopping = new AbortController()
  const signal = options.signal ? AbortSignal.any([stopping.signal, options.signal]) : stopping.signal
  let current = await launchFirst(launch, signal)
  let restarts = 0
  let waitMs = 0
  const watched = watch()

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      const startedAt = performance.now()
      const how = await current.exited
      if (stopping.signal.aborted) return
      if (performance.now() - startedAt > STEADY_AFTER_MS) waitMs = 0
      options.report(`${name} ended (${how}); restarting it`)
      await relaunch()
    }
    await current.stop() // it started while it was being stopped
  }

  async function relaunch(): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(waitMs, undefined, { signal: stopping.signal }).catch(() => {})
      waitMs = Math.min(Math.max(2 * waitMs, FIRST_WAIT_MS), LONGEST_WAIT_MS)
      try {
        current = await launch(stopping.signal)
        restarts += 1
        options.report(`${name} runs again`)
        return
      } catch (error) {
        if (!stopping.signal.aborted) options.report(`${name} did not start: ${firstLine(error)}`)
      }
    }
  }

  return {
    name,
    pid: () => current.pid,
    restarts: () => restarts,
    kill: (killSignal) => current.kill(killSignal),
    stop: async () => {
      stopping.abort()
      await current.stop()
      await watched
    },
  }
}

/** Launches the first process. Retries a retryable failure, because the previous process may still be ending. */
async function launchFirst(
  launch: (signal: AbortSignal) => Promise<OwnedProcess>,
  signal: AbortSignal,
): Promise<OwnedProcess> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await launch(signal)
    } catch (error) {
      if (attempt === FIRST_ATTEMPTS || !(error instanceof StackError && error.retryable)) throw error
      await sleep(1_000, undefined, { signal }).catch(() => {})
    }
  }
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1).join('')
}
