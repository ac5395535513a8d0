/** Deadlines are checked no more often than this, in ms. */
const SPACING_MS = 5

/** One timer for many deadlines, set for the earliest that was known when it was set. */
interface DeadlineTimer {
  /** `deadlineAt`: a `performance.now()` instant, or Infinity. */
  readonly add: (deadlineAt: number) => void
  readonly stop: () => void
}

/** `onDeadline` is called at a deadline, and returns the next one. */
export function createDeadlineTimer(onDeadline: () => number): DeadlineTimer {
  let timer: NodeJS.Timeout | undefined
  let dueAt = Infinity

  function add(deadlineAt: number): void {
    if (deadlineAt >= dueAt) return
    clearTimeout(timer)
    dueAt = deadlineAt
    timer = setTimeout(
      () => {
        dueAt = Infinity
        add(onDeadline())
      },
      Math.max(SPACING_MS, deadlineAt - performance.now()),
    )
  }

  return { add, stop: () => clearTimeout(timer) }
}
