import { setTimeout as sleep } from 'node:timers/promises'

type Read<Answer> = () => Promise<Answer>

/** Shares a read among all who ask while it goes on, and for `keepMs` after it has ended; a failure is kept as long. */
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
 * Answers what was read last where a read fails or takes longer than `waitMs`; `first` where nothing was read yet. Rejects only if
 * nothing was ever read, and there is no `first`.
 */
export function orReadLast<Answer>(read: Read<Answer>, waitMs: number, first?: Answer): Read<Answer> {
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
