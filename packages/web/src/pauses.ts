/** Interruptible pauses. */
export interface Pauses {
  /** Resolves after the time, with `until`, or when all pauses are ended: then to the reason. */
  readonly pause: (ms: number, until?: Promise<false>) => Promise<boolean>
  /** Ends every pause at once. `isLeft`: because the page is left. */
  readonly endAll: (isLeft: boolean) => void
}

export function createPauses(): Pauses {
  const running = new Set<(isLeft: boolean) => void>()
  return {
    pause: (ms, until) =>
      new Promise((resolve) => {
        const end = (isLeft: boolean) => {
          clearTimeout(timer)
          running.delete(end)
          resolve(isLeft)
        }
        const timer = setTimeout(end, ms, false)
        running.add(end)
        // Ends the timer, too.
        void until?.then(end)
      }),
    endAll: (isLeft) => running.forEach((end) => end(isLeft)),
  }
}
