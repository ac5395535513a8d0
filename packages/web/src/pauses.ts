/** Interruptible pauses. */
export interface Pauses {
  readonly pause: (ms: number) => Promise<void>
  /** Ends every pause at once. */
  readonly endAll: () => void
}

export function createPauses(): Pauses {
  const running = new Set<() => void>()
  return {
    pause: (ms) =>
      new Promise((resolve) => {
        const end = () => {
          clearTimeout(timer)
          running.delete(end)
          resolve()
        }
        const timer = setTimeout(end, ms)
        running.add(end)
      }),
    endAll: () => running.forEach((end) => end()),
  }
}
