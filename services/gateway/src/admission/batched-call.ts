import { remainingMs } from '../budget.ts'

export interface BatchedCallOptions<Question, Answer> {
  /** One call for all of them; answers in the order of the questions. Rejects when the owner is away. */
  readonly ask: (questions: readonly Question[], timeoutMs: number) => Promise<readonly Answer[]>
  /** Equal questions that wait for the same call share one answer. Left out: no two are equal. */
  readonly keyOf?: (question: Question) => string
  /** How much of a call a question takes up: an owner's port takes bodies up to 1 MB. Left out: nothing to speak of. */
  readonly bytesOf?: (question: Question) => number
  readonly maxBatch?: number
  readonly maxBatchBytes?: number
  readonly maxWaiting?: number
}

/** `away`: the owner did not answer in time, or could not be asked. It may have acted all the same. */
export type Asked<Answer> = { readonly outcome: 'answered'; readonly answer: Answer } | { readonly outcome: 'away' }

/** Asks one question, as part of the next call. Never rejects; `deadlineAt` is a `performance.now()` instant. */
export type BatchedCall<Question, Answer> = (question: Question, deadlineAt: number) => Promise<Asked<Answer>>

interface Waiting<Question, Answer> {
  readonly question: Question
  readonly deadlineAt: number
  readonly decide: (asked: Asked<Answer>) => void
}

const AWAY = { outcome: 'away' } as const

/**
 * One call in flight for each owner, everything that arrives meanwhile in the next (design.md, A track event). A question
 * never joins a call that has begun: its answer could be older than the question.
 */
export function createBatchedCall<Question, Answer>(
  options: BatchedCallOptions<Question, Answer>,
): BatchedCall<Question, Answer> {
  const { ask, keyOf, maxWaiting = 10_000 } = options
  const waiting = new Set<Waiting<Question, Answer>>()
  let isAsking = false

  async function askAll(): Promise<void> {
    isAsking = true
    while (waiting.size > 0) {
      const batch = takeBatch(waiting, options)
      const groups = groupBy(batch, keyOf)
      const timeoutMs = Math.max(1, ...batch.map((one) => remainingMs(one.deadlineAt)))
      const answers = await askSafely(
        ask,
        groups.map((group) => group[0].question),
        timeoutMs,
      )
      groups.forEach((group, index) => {
        const answer = answers[index]
        for (const one of group) one.decide(answer === undefined ? AWAY : { outcome: 'answered', answer })
      })
    }
    isAsking = false
  }

  return (question, deadlineAt) => {
    const timeoutMs = remainingMs(deadlineAt)
    if (timeoutMs === 0 || waiting.size >= maxWaiting) return Promise.resolve(AWAY)
    return new Promise((resolve) => {
      const decide = (asked: Asked<Answer>) => {
        clearTimeout(timer)
        waiting.delete(one)
        resolve(asked)
      }
      const one = { question, deadlineAt, decide }
      const timer = setTimeout(() => decide(AWAY), timeoutMs)
      waiting.add(one)
      if (!isAsking) void askAll()
    })
  }
}

/** The answers, or none where the owner is away or answered something else. */
async function askSafely<Question, Answer>(
  ask: BatchedCallOptions<Question, Answer>['ask'],
  questions: readonly Question[],
  timeoutMs: number,
): Promise<readonly Answer[]> {
  try {
    const answers = await ask(questions, timeoutMs)
    return answers.length === questions.length ? answers : []
  } catch {
    return []
  }
}

/** Takes out the first that fit into one call; always at least one. */
function takeBatch<Question, Answer>(
  waiting: Set<Waiting<Question, Answer>>,
  { bytesOf = () => 0, maxBatch = 1_000, maxBatchBytes = 800_000 }: BatchedCallOptions<Question, Answer>,
): Waiting<Question, Answer>[] {
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

function groupBy<Question, One extends { readonly question: Question }>(
  batch: readonly One[],
  keyOf: ((question: Question) => string) | undefined,
): (readonly [One, ...One[]])[] {
  if (!keyOf) return batch.map((one) => [one] as const)
  const groups = new Map<string, [One, ...One[]]>()
  for (const one of batch) {
    const group = groups.get(keyOf(one.question))
    if (group) group.push(one)
    else groups.set(keyOf(one.question), [one])
  }
  return [...groups.values()]
}
