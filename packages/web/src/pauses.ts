/** Interruptible pauses. */
export interface Pauses {
  /** Resolves after the time, to true if the pause was ended before. */
  readonly pause: (ms: number) => Promise<boolean>
  /** Ends every pause at once. */
  readonly endAll: () => void
}

export function createPauses(): Pauses {
  const running = new Set<() => void>()
  return {
    pause: (ms) =>
      new Promise((resolve) => {
        const end = (isEarly: boolean) => {
          clearTimeout(timer)
          running.delete(endEarly)
          resolve(isEarly)
        }
        const endEarly = () => end(true)
        const timer = setTimeout(end, ms, false)
        running.add(endEarly)
      }),
    endAll: () => running.forEach((end) => end()),
  }
}
