/** Lets one caller sleep until another caller wakes it. */
interface Sleeper {
  /** Resolves after `ms`, which may be Infinity, or earlier: at `wake`, and once the signal is aborted. */
  readonly sleep: (ms: number) => Promise<void>
  /** Does nothing while no caller sleeps. */
  readonly wake: () => void
}

export function createSleeper(signal?: AbortSignal): Sleeper {
  let wake: (() => void) | undefined
  signal?.addEventListener('abort', () => wake?.())

  return {
    sleep: async (ms) => {
      if (signal?.aborted) return
      const { promise, resolve } = Promise.withResolvers<void>()
      wake = resolve
      const timer = ms < Infinity ? setTimeout(resolve, Math.max(0, ms)) : undefined
      await promise
      clearTimeout(timer)
    },
    wake: () => wake?.(),
  }
}
