/** A wait that ends after a time, or when `end` is called. */
export interface Pause {
  /** Resolves at the end. */
  readonly over: Promise<void>
  readonly end: () => void
}

/** Begins a pause of `ms`; Infinity: until it is ended. */
export function createPause(ms: number): Pause {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = ms < Infinity ? setTimeout(resolve, Math.max(0, ms)) : undefined
  return { over: promise.finally(() => clearTimeout(timer)), end: resolve }
}
