import { setTimeout as sleep } from 'node:timers/promises'

/** Calls `ask` until `isDone` accepts the answer, or until `withinMs` have passed. Returns the last answer. */
export async function eventually<T>(
  ask: () => Promise<T>,
  isDone: (answer: T) => boolean,
  withinMs: number,
  everyMs = 100,
): Promise<T> {
  const until = performance.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (isDone(answer) || performance.now() > until) return answer
    await sleep(everyMs)
  }
}
