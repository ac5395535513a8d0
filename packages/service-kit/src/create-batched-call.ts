import { remainingMs } from './remaining-ms.ts'

export interface BatchedCallOptions<Question, Answer> {
  /** One call for all questions; answers in their order. Rejects, or answers too few, when the service is unavailable. */
  readonly ask: (questions: readonly Question[], deadlineAt: number) => Promise<readonly Answer[]>
  /** How long a call may take, however little time its questions have left: a service that is asked late does not fail. */
  readonly callWithinMs: number
  /** Whose question it is. Tenants take turns, and a tenant's questions are in one call at a time. */
  readonly tenantOf: (question: Question) => string
  /** Questions of one key that wait for the same call share one answer. Default: no two share one. */
  readonly keyOf?: (question: Question) => unknown
  /** How much work a question is for the service. Default: 1. */
  readonly weightOf?: (question: Question) => number
  /** How much of a call's body a question takes up. Default: nothing worth counting. */
  readonly bytesOf?: (question: Question) => number
  /** Of one call. A question that alone is heavier is not asked. */
  readonly maxWeight?: number
  /** Of one call: internal ports accept bodies up to 1 MB. A question that alone is larger is not asked. */
  readonly maxBytes?: number
  /** In flight at once. */
  readonly maxCalls?: number
  /** Questions of one tenant that wait. */
  readonly maxWaiting?: number
}

/**
 * - `unavailable`: the service did not answer in time, or could not be asked. It may have acted all the same.
 * - `crowded`: the service answers, but the tenant asks too much at once. It may have acted all the same.
 */
export type Asked<Answer> =
  | { readonly outcome: 'answered'; readonly answer: Answer }
  | { readonly outcome: 'unavailable' }
  | { readonly outcome: 'crowded' }

/**
 * Asks one question, as part of a call. Never rejects; `deadlineAt` is a `performance.now()` instant. Left out, no request
 * waits for the answer: it has {@link UNAWAITED_MS}.
 */
export type BatchedCall<Question, Answer> = (question: Question, deadlineAt?: number) => Promise<Asked<Answer>>

interface Waiting<Question, Answer> {
  readonly question: Question
  readonly tenant: Tenant<Question, Answer>
  readonly weight: number
  readonly bytes: number
  readonly deadlineAt: number
  readonly resolve: (asked: Asked<Answer>) => void
  /** Ends the wait of a question for which there is no time left. */
  readonly expire: () => void
}

interface Tenant<Question, Answer> {
  readonly id: string
  readonly waiting: Set<Waiting<Question, Answer>>
  isAsking: boolean
  /** How many questions had come, of all tenants, when the last answered call for this one began. */
  answeredUpTo: number
}

const UNAVAILABLE = { outcome: 'unavailable' } as const
const CROWDED = { outcome: 'crowded' } as const
/** For what no request waits, such as giving back after an answer: then no budget is left. */
const UNAWAITED_MS = 5_000
/** What has less time left is not asked any more. */
const SHORTEST_CALL_MS = 50

/**
 * A few calls in flight for each kind of question; everything that arrives meanwhile goes into the next ones (design.md,
 * Calls to services). Calls are bounded and tenants take turns, so however much one tenant asks, the others wait for one call.
 * A question never joins a call that has begun: its answer could be older than the question.
 */
export function createBatchedCall<Question, Answer>(
  options: BatchedCallOptions<Question, Answer>,
): BatchedCall<Question, Answer> {
  const { ask, callWithinMs, tenantOf, keyOf = (question) => question, weightOf = () => 1, bytesOf = () => 0 } = options
  const { maxWeight = 1_000, maxBytes = 800_000, maxCalls = 2, maxWaiting = 4_000 } = options
  /** Those with questions, in the order of their turns. */
  const tenants = new Map<string, Tenant<Question, Answer>>()
  let calls = 0
  let positions = 0

  /** Begins as many calls as there are questions for. */
  function askMore(): void {
    while (calls < maxCalls) {
      const batch = takeBatch(tenants, maxWeight, maxBytes)
      if (batch.length === 0) return
      void askBatch(batch)
    }
  }

  async function askBatch(batch: readonly Waiting<Question, Answer>[]): Promise<void> {
    const asking = new Set(batch.map(({ tenant }) => tenant))
    for (const tenant of asking) beginTurn(tenant)
    calls += 1
    const beganAt = positions
    const groups = [...Map.groupBy(batch, ({ question }) => keyOf(question)).values()]
    const questions = groups.flatMap(([first]) => (first ? [first.question] : []))
    const answers = await ask(questions, performance.now() + callWithinMs).catch(() => [])
    const isComplete = answers.length === questions.length
    groups.forEach((group, index) => {
      const answer = answers[index]
      const asked = isComplete && answer !== undefined ? ({ outcome: 'answered', answer } as const) : UNAVAILABLE
      for (const { resolve } of group) resolve(asked)
    })
    calls -= 1
    for (const tenant of asking) endTurn(tenant, isComplete ? beganAt : 0)
    askMore()
  }

  /** Others come first at the next call. */
  function beginTurn(tenant: Tenant<Question, Answer>): void {
    tenant.isAsking = true
    tenants.delete(tenant.id)
    tenants.set(tenant.id, tenant)
  }

  function endTurn(tenant: Tenant<Question, Answer>, answeredUpTo: number): void {
    tenant.isAsking = false
    tenant.answeredUpTo = Math.max(tenant.answeredUpTo, answeredUpTo)
    if (tenant.waiting.size === 0) tenants.delete(tenant.id)
  }

  return (question, deadlineAt = performance.now() + UNAWAITED_MS) => {
    const timeoutMs = remainingMs(deadlineAt)
    const [weight, bytes, id] = [weightOf(question), bytesOf(question), tenantOf(question)]
    const tenant = tenants.get(id) ?? { id, waiting: new Set(), isAsking: false, answeredUpTo: 0 }
    if (timeoutMs < SHORTEST_CALL_MS) return Promise.resolve(tenant.waiting.size > 0 ? CROWDED : UNAVAILABLE)
    if (weight > maxWeight || bytes > maxBytes || tenant.waiting.size >= maxWaiting) return Promise.resolve(CROWDED)
    const { promise, resolve } = Promise.withResolvers<Asked<Answer>>()
    const position = positions
    const expire = (): void => {
      tenant.waiting.delete(one)
      if (tenant.waiting.size === 0 && !tenant.isAsking) tenants.delete(id)
      resolve(position < tenant.answeredUpTo ? CROWDED : UNAVAILABLE)
    }
    const one: Waiting<Question, Answer> = { question, tenant, weight, bytes, deadlineAt, resolve, expire }
    const timer = setTimeout(expire, timeoutMs)
    positions += 1
    tenant.waiting.add(one)
    tenants.set(id, tenant)
    askMore()
    return promise.finally(() => clearTimeout(timer))
  }
}

/** Takes out what fits into one call: a question of each tenant in turn, as long as there are any. */
function takeBatch<Question, Answer>(
  tenants: ReadonlyMap<string, Tenant<Question, Answer>>,
  maxWeight: number,
  maxBytes: number,
): readonly Waiting<Question, Answer>[] {
  const batch: Waiting<Question, Answer>[] = []
  let [weight, bytes] = [0, 0]
  let turns = [...tenants.values()].filter(({ isAsking }) => !isAsking)
  while (turns.length > 0) {
    turns = turns.filter(({ waiting }) => {
      const next = firstInTime(waiting)
      if (!next || weight + next.weight > maxWeight || bytes + next.bytes > maxBytes) return false
      waiting.delete(next)
      batch.push(next)
      weight += next.weight
      bytes += next.bytes
      return true
    })
  }
  return batch
}

/** The first that a call can still answer. */
function firstInTime<Question, Answer>(
  waiting: ReadonlySet<Waiting<Question, Answer>>,
): Waiting<Question, Answer> | undefined {
  for (const one of waiting) {
    if (remainingMs(one.deadlineAt) >= SHORTEST_CALL_MS) return one
    one.expire()
  }
  return undefined
}
