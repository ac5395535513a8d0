import { remainingMs } from '../http/budget.ts'

export interface BatchedCallOptions<Question, Answer> {
  /** One call for all questions; answers in their order. Rejects, or answers too few, when the service is unavailable. */
  readonly ask: (questions: readonly Question[], deadlineAt: number) => Promise<readonly Answer[]>
  /** Questions of one key that wait for the same call share one answer. Default: no two share one. */
  readonly keyOf?: (question: Question) => unknown
  /** How much of a call a question takes up: internal ports accept bodies up to 1 MB. Default: nothing worth counting. */
  readonly bytesOf?: (question: Question) => number
  readonly maxBatch?: number
  readonly maxBatchBytes?: number
  readonly maxWaiting?: number
}

/** `away`: the service did not answer in time, or could not be asked. It may have acted all the same. */
export type Asked<Answer> = { readonly outcome: 'answered'; readonly answer: Answer } | { readonly outcome: 'away' }

/** Asks one question, as part of the next call. Never rejects; `deadlineAt` is a `performance.now()` instant. */
export type BatchedCall<Question, Answer> = (question: Question, deadlineAt: number) => Promise<Asked<Answer>>

interface Waiting<Question, Answer> {
  readonly question: Question
  readonly deadlineAt: number
  readonly resolve: (asked: Asked<Answer>) => void
}

const AWAY = { outcome: 'away' } as const

/**
 * One call in flight for each kind of question; everything that arrives meanwhile goes into the next (design.md, A track
 * event). A question never joins a call that has begun: its answer could be older than the question.
 */
export function createBatchedCall<Question, Answer>(
  options: BatchedCallOptions<Question, Answer>,
): BatchedCall<Question, Answer> {
  const { ask, keyOf = (question) => question, maxWaiting = 10_000 } = options
  const waiting = new Set<Waiting<Question, Answer>>()
  let isAsking = false

  async function askAll(): Promise<void> {
    isAsking = true
    while (waiting.size > 0) {
      const batch = takeBatch(waiting, options)
      const groups = [...Map.groupBy(batch, ({ question }) => keyOf(question)).values()]
      const questions = groups.flatMap(([first]) => (first ? [first.question] : []))
      const deadlineAt = Math.max(...batch.map((one) => one.deadlineAt))
      const answers = await ask(questions, deadlineAt).catch(() => [])
      const isComplete = answers.length === questions.length
      groups.forEach((group, index) => {
        const answer = answers[index]
        const asked = isComplete && answer !== undefined ? ({ outcome: 'answered', answer } as const) : AWAY
        for (const { resolve } of group) resolve(asked)
      })
    }
    isAsking = false
  }

  return (question, deadlineAt) => {
    const timeoutMs = remainingMs(deadlineAt)
    if (timeoutMs === 0 || waiting.size >= maxWaiting) return Promise.resolve(AWAY)
    const { promise, resolve } = Promise.withResolvers<Asked<Answer>>()
    const one = { question, deadlineAt, resolve }
    const timer = setTimeout(() => {
      waiting.delete(one)
      resolve(AWAY)
    }, timeoutMs)
    waiting.add(one)
    if (!isAsking) void askAll()
    return promise.finally(() => clearTimeout(timer))
  }
}

/** Takes out the first questions that fit into one call; always at least one. */
function takeBatch<Question, Answer>(
  waiting: Set<Waiting<Question, Answer>>,
  { bytesOf = () => 0, maxBatch = 1_000, maxBatchBytes = 800_000 }: BatchedCallOptions<Question, Answer>,
): readonly Waiting<Question, Answer>[] {
  const batch: Waiting<Question, Answer>[] = []
  let bytes = 0
  for (const one of waiting) {
    bytes += bytesOf(one.question)
    if (batch.length > 0 && (batch.length === maxBatch || bytes > maxBatchBytes)) break
    batch.push(one)
    waiting.delete(one)
  }
  return batch
}
