/** Lets callers sleep until another caller wakes them. */
interface Sleeper {
  /** Resolves after `ms`, which may be Infinity, or earlier: at `wake`, and once the signal is aborted. */
  readonly sleep: (ms: number) => Promise<void>
  /** Wakes every sleeping caller. Later sleeps do not remember it. */
  readonly wake: () => void
}

export function createSleeper(signal?: AbortSignal): Sleeper {
  const sleeping = new Set<() => void>()
  const wake = (): void => sleeping.forEach((resolve) => resolve())
  signal?.addEventListener('abort', wake)

  return {
    sleep: async (ms) => {
      if (signal?.aborted) return
      const { promise, resolve } = Promise.withResolvers<void>()
      sleeping.add(resolve)
      const timer = ms < Infinity ? setTimeout(resolve, Math.max(0, ms)) : undefined
      await promise
      sleeping.delete(resolve)
      clearTimeout(timer)
    },
    wake,
  }
}
