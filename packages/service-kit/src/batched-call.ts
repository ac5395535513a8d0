import { type CallFunction, remainingMs } from './calls.ts'

interface BatchedCallOptions<Question> {
  /** The tenant of a question. Tenants take turns, and a tenant has one call in flight. */
  readonly tenantOf: (question: Question) => string
  /** Questions with the same key that wait for the same call share one answer. Default: none share. */
  readonly keyOf?: (question: Question) => unknown
  /** Work that a question costs the service. Default: 1. */
  readonly weightOf?: (question: Question) => number
  /** Size of a question in the body of a call. Default: negligible. */
  readonly bytesOf?: (question: Question) => number
  /** Maximum weight of one call. A heavier question is `crowded`. */
  readonly maxWeight?: number
  /**
   * Weight of the first calls, for calls whose duration follows their weight: they grow as long as the service answers
   * quickly. A question of such calls is late because of load, and `crowded`, unless the service is silent. Default: calls
   * are not paced, such as those that wait for folds.
   */
  readonly firstWeight?: number
  /**
   * A service that has not answered a tenant's calls for so long is assumed to be unavailable. Must be shorter than questions
   * wait, or they are `crowded` after the service stopped. Default: 900 ms.
   */
  readonly silentAfterMs?: number
  /** Maximum size of one call; internal ports accept bodies of 1 MB. A larger question is `crowded`. */
  readonly maxBytes?: number
  /** Maximum number of calls in flight. */
  readonly maxCalls?: number
  /** Maximum number of a tenant's waiting questions. */
  readonly maxWaiting?: number
}

/**
 * - `unavailable`: the service did not answer in time, or could not be asked. It may still have acted.
 * - `crowded`: the service answers, but the tenant asks too much at once. The service may still have acted.
 */
export type BatchedOutcome<Answer> =
  | { readonly outcome: 'answered'; readonly answer: Answer }
  | { readonly outcome: 'unavailable' }
  | { readonly outcome: 'crowded' }

/**
 * Asks one question, as part of a call. Never rejects. `deadlineAt` is a `performance.now()` instant; without it the question
 * has {@link UNAWAITED_MS}, because no request waits for the answer. `traceparent`: of the request that waits.
 */
export type BatchedCall<Question, Answer> = (
  question: Question,
  deadlineAt?: number,
  traceparent?: string,
) => Promise<BatchedOutcome<Answer>>

interface Waiting<Question, Answer> {
  readonly question: Question
  readonly tenant: Tenant<Question, Answer>
  readonly weight: number
  readonly bytes: number
  readonly deadlineAt: number
  readonly traceparent: string | undefined
  readonly resolve: (asked: BatchedOutcome<Answer>) => void
  /** Ends the wait of a question whose time is over. */
  readonly expire: () => void
}

interface Tenant<Question, Answer> {
  readonly id: string
  readonly waiting: Set<Waiting<Question, Answer>>
  isAsking: boolean
  /** Number of questions, of all tenants, that had arrived when the tenant's last answered call began. */
  answeredUpTo: number
}

const UNAVAILABLE = { outcome: 'unavailable' } as const
const CROWDED = { outcome: 'crowded' } as const
/** For questions that no request waits for, such as giving back room after an answer: then no budget is left. */
const UNAWAITED_MS = 5_000
/** A question with less time left is not asked. */
const SHORTEST_CALL_MS = 50
/** Calls grow until they take so long. */
const QUICK_CALL_MS = 250
/** Calls that took longer are followed by smaller ones, but not as small as the first: each call has a cost of its own. */
const SLOW_CALL_MS = 500
const SMALLEST_SHARE = 1 / 4
/** After such a pause, a process of the service may be new, or its connections closed: calls begin small again. */
const COLD_AFTER_MS = 10_000

/**
 * Gathers questions into calls, a few in flight at once: questions that arrive meanwhile go into the next ones (design.md,
 * Calls to services). Calls are bounded and scheduled round-robin by tenant, so a busy tenant delays the others by one call
 * at most. A question never joins a call that has begun: its answer could be older than the question.
 *
 * Calls whose duration follows their weight begin small: a service that was just started takes many times as long.
 *
 * A call may take as long as `ask` allows, however little time its questions have left: a late call does not count as a
 * failure of the service.
 */
export function createBatchedCall<Question, Answer>(
  ask: CallFunction<{ questions: Question[] }, { answers: Answer[] }>,
  options: BatchedCallOptions<Question>,
): BatchedCall<Question, Answer> {
  const { tenantOf, keyOf = (question) => question, weightOf = () => 1, bytesOf = () => 0 } = options
  const { maxWeight = 1_000, firstWeight = maxWeight, maxBytes = 800_000, maxCalls = 2, maxWaiting = 4_000 } = options
  const { silentAfterMs = 900 } = options
  const isPaced = options.firstWeight !== undefined
  const pace = createPace(firstWeight, maxWeight)
  /** Tenants with questions, in the order of their turns. */
  const tenants = new Map<string, Tenant<Question, Answer>>()
  const answered = createRecentAnswers(silentAfterMs)
  let calls = 0
  let positions = 0

  /** Begins calls while there are questions for them. */
  function askMore(): void {
    while (calls < maxCalls) {
      const batch = takeBatch(tenants, pace.weight(), maxBytes)
      if (batch.length === 0) return
      void askBatch(batch)
    }
  }

  async function askBatch(batch: readonly Waiting<Question, Answer>[]): Promise<void> {
    const asking = new Set(batch.map(({ tenant }) => tenant))
    for (const tenant of asking) beginTurn(tenant)
    calls += 1
    const beganAt = positions
    const askedAt = performance.now()
    const groups = [...Map.groupBy(batch, ({ question }) => keyOf(question)).values()]
    const questions = groups.flatMap(([first]) => (first ? [first.question] : []))
    const asked = await ask({ questions }, { traceparents: batch.map(({ traceparent }) => traceparent) })
    const answers = asked.outcome === 'answered' ? asked.answer.answers : []
    const isComplete = answers.length === questions.length
    groups.forEach((group, index) => {
      const answer = answers[index]
      const outcome = isComplete && answer !== undefined ? ({ outcome: 'answered', answer } as const) : UNAVAILABLE
      for (const { resolve } of group) resolve(outcome)
    })
    calls -= 1
    if (isComplete)
      pace.onAnswered(
        batch.reduce((sum, { weight }) => sum + weight, 0),
        performance.now() - askedAt,
      )
    else pace.onFailed()
    for (const tenant of asking) endTurn(tenant, isComplete ? beganAt : undefined)
    askMore()
  }

  /** Moves the tenant behind the others. */
  function beginTurn(tenant: Tenant<Question, Answer>): void {
    tenant.isAsking = true
    tenants.delete(tenant.id)
    tenants.set(tenant.id, tenant)
  }

  /** `answeredUpTo`: undefined after a failed call. */
  function endTurn(tenant: Tenant<Question, Answer>, answeredUpTo: number | undefined): void {
    tenant.isAsking = false
    if (answeredUpTo !== undefined) {
      tenant.answeredUpTo = answeredUpTo
      answered.note(tenant.id)
    }
    if (tenant.waiting.size === 0) tenants.delete(tenant.id)
  }

  return (question, deadlineAt = performance.now() + UNAWAITED_MS, traceparent) => {
    const timeoutMs = remainingMs(deadlineAt)
    const [weight, bytes, id] = [weightOf(question), bytesOf(question), tenantOf(question)]
    const tenant = tenants.get(id) ?? { id, waiting: new Set(), isAsking: false, answeredUpTo: 0 }
    if (timeoutMs < SHORTEST_CALL_MS) return Promise.resolve(isPaced || tenant.waiting.size > 0 ? CROWDED : UNAVAILABLE)
    if (weight > maxWeight || bytes > maxBytes || tenant.waiting.size >= maxWaiting) return Promise.resolve(CROWDED)
    const { promise, resolve } = Promise.withResolvers<BatchedOutcome<Answer>>()
    const position = positions
    const expire = (): void => {
      tenant.waiting.delete(one)
      if (tenant.waiting.size === 0 && !tenant.isAsking) tenants.delete(id)
      resolve(position < tenant.answeredUpTo || (isPaced && answered.has(id)) ? CROWDED : UNAVAILABLE)
    }
    const one: Waiting<Question, Answer> = { question, tenant, weight, bytes, deadlineAt, traceparent, resolve, expire }
    let expiring: NodeJS.Immediate | undefined
    // After a stall of this process, an answer that has arrived is read first.
    const timer = setTimeout(() => (expiring = setImmediate(expire)), timeoutMs)
    positions += 1
    tenant.waiting.add(one)
    tenants.set(id, tenant)
    askMore()
    return promise.finally(() => {
      clearTimeout(timer)
      clearImmediate(expiring)
    })
  }
}

/** Remembers the tenants whose calls the service has answered in the last `silentAfterMs`. */
function createRecentAnswers(silentAfterMs: number) {
  const isRecent = (at = Number.NEGATIVE_INFINITY): boolean => performance.now() - at < silentAfterMs
  /** Instants of `performance.now()`, the oldest first. */
  const answeredAt = new Map<string, number>()
  return {
    note: (tenant: string): void => {
      answeredAt.delete(tenant)
      answeredAt.set(tenant, performance.now())
      for (const [other, at] of answeredAt) {
        if (isRecent(at)) break
        answeredAt.delete(other)
      }
    },
    has: (tenant: string): boolean => isRecent(answeredAt.get(tenant)),
  }
}

/** Paces calls by the answers to earlier ones, so that each is answered long before its questions expire. */
function createPace(firstWeight: number, maxWeight: number) {
  let weight = firstWeight
  let answeredAt = Number.NEGATIVE_INFINITY
  return {
    /** Returns the maximum weight of the next call. A single question may be heavier. */
    weight: (): number => {
      if (performance.now() - answeredAt >= COLD_AFTER_MS) weight = firstWeight
      return weight
    },
    onAnswered: (answeredWeight: number, tookMs: number): void => {
      answeredAt = performance.now()
      // Each call has a cost of its own, so a larger one takes less time than this assumes.
      const quick = Math.floor(answeredWeight * Math.max(1 / 2, QUICK_CALL_MS / tookMs))
      if (quick > weight) weight = Math.min(maxWeight, quick)
      else if (tookMs > SLOW_CALL_MS) weight = Math.max(Math.min(weight, SMALLEST_SHARE * maxWeight), quick)
    },
    onFailed: (): void => void (weight = firstWeight),
  }
}

/** Removes the questions of one call: one of each tenant in turn, while they fit. */
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
      if (!next || bytes + next.bytes > maxBytes) return false
      if (batch.length > 0 && weight + next.weight > maxWeight) return false
      waiting.delete(next)
      batch.push(next)
      weight += next.weight
      bytes += next.bytes
      return true
    })
  }
  return batch
}

/** Returns the first question that a call can still answer; expires those before it. */
function firstInTime<Question, Answer>(
  waiting: ReadonlySet<Waiting<Question, Answer>>,
): Waiting<Question, Answer> | undefined {
  for (const one of waiting) {
    if (remainingMs(one.deadlineAt) >= SHORTEST_CALL_MS) return one
    one.expire()
  }
  return undefined
}
