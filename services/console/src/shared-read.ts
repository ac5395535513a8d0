import { setTimeout as sleep } from 'node:timers/promises'

type Read<Answer> = () => Promise<Answer>

/** Shares one read among all callers while it runs, and for `keepMs` after its end. A failure is kept for the same time. */
export function createSharedRead<Answer>(
  read: Read<Answer>,
  keepMs = 0,
  nowMs = () => performance.now(),
): Read<Answer> {
  let kept: { readonly answer: Promise<Answer>; endedAtMs?: number } | undefined

  function begin(): Promise<Answer> {
    const begun: NonNullable<typeof kept> = { answer: read() }
    const end = (): void => void (begun.endedAtMs = nowMs())
    begun.answer.then(end, end)
    kept = begun
    return begun.answer
  }

  return () => {
    const isOver = kept?.endedAtMs !== undefined && nowMs() - kept.endedAtMs >= keepMs
    return kept && !isOver ? kept.answer : begin()
  }
}

/**
 * Falls back to the last answer, or to `first`, if a read fails or takes longer than `waitMs`. Rejects only if there is
 * neither.
 */
export function withLastAnswer<Answer>(read: Read<Answer>, waitMs: number, first?: Answer): Read<Answer> {
  let last: { readonly answer: Answer } | undefined = first === undefined ? undefined : { answer: first }
  return async () => {
    const reading = read().then((answer) => {
      last = { answer }
      return answer
    })
    if (!last) return reading
    const { answer } = last
    return Promise.race([reading, sleep(waitMs, answer, { ref: false })]).catch(() => answer)
  }
}
