/** Calls `tick` again and again, `everyMs` after it has ended, never twice at once. */
export interface Ticker {
  readonly start: () => void
  /** No more ticks begin; one under way goes on. */
  readonly stop: () => void
  /** Resolves once the one under way has ended. */
  readonly finished: () => Promise<void>
}

export interface TickerOptions {
  readonly everyMs: number
  /** Must not reject. */
  readonly tick: () => Promise<void>
}

export function createTicker({ everyMs, tick }: TickerOptions): Ticker {
  let timer: NodeJS.Timeout | undefined
  let underWay: Promise<void> = Promise.resolve()
  let isStopped = false

  const schedule = (): void => {
    if (!isStopped) timer = setTimeout(run, everyMs)
  }

  const run = (): void => {
    underWay = tick().then(schedule)
  }

  return {
    start: schedule,
    stop: () => {
      isStopped = true
      clearTimeout(timer)
    },
    finished: () => underWay,
  }
}
