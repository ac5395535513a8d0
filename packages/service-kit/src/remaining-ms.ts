/** What is left until a deadline, a `performance.now()` instant. Never negative. */
export function remainingMs(deadlineAt: number): number {
  return Math.max(0, deadlineAt - performance.now())
}
