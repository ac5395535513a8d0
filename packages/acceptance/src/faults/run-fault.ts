import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FindingsOfKind } from '@nextvisit/audit'
import { eventually } from '../stack.ts'
import type { Call } from './callers.ts'
import { auditStack } from './campaign-stack.ts'
import type { Fault, Injected, Stage } from './fault.ts'
import { watchMemory } from './memory.ts'
import { createTraffic } from './traffic.ts'

const REQUESTS_PER_SECOND = 40
const CALM_BEFORE_MS = 1_000
const CALM_AFTER_MS = 3_000
const READY_WITHIN_MS = 60_000
const AT_REST_WITHIN_MS = 90_000

/** What one fault did under one seed. */
export interface FaultResult {
  readonly fault: string
  readonly seed: number
  /** Undefined: it did not strike, and the run has shown nothing. */
  readonly witness: string | undefined
  readonly requests: number
  /** Answered 503, or not at all: their callers can't know. */
  readonly unknown: number
  readonly longestMs: number
  /** From healing until the last request that failed. */
  readonly recoveryMs: number
  /** From the last request until nothing was left to read, and counting again found no difference. */
  readonly atRestMs: number
  readonly growthMb: number
  /** None where all is well. */
  readonly differences: readonly FindingsOfKind[]
}

/** Lets a fault strike under load, heals it, waits until all is at rest, and counts everything again. */
export async function runFault(fault: Fault, seed: number, stage: Stage): Promise<FaultResult> {
  const { stack, callers, random } = stage
  const traffic = createTraffic({ callers, customers: stack.customers, random, perSecond: REQUESTS_PER_SECOND })
  const callsBefore = callers.calls().length
  const memory = watchMemory(stack)
  traffic.start()
  await sleep(CALM_BEFORE_MS)
  let healedAt: number
  let injected: Injected
  try {
    injected = await fault.inject(stage)
    try {
      await sleep(injected.lastsMs)
    } finally {
      await injected.heal()
    }
    healedAt = performance.now()
    await eventually(
      () => isReady(stack.gatewayUrl),
      (ready) => ready,
      READY_WITHIN_MS,
    )
    await sleep(CALM_AFTER_MS)
  } finally {
    await traffic.stop()
  }
  const witness = await injected.witness()
  const growthMb = memory.stop()
  const stoppedAt = performance.now()
  const found = await eventually(
    () => differencesOf(stage),
    (differences) => differences.length === 0,
    AT_REST_WITHIN_MS,
  )
  const calls = callers.calls().slice(callsBefore)
  const failed = calls.filter(({ status }) => status === undefined || status === 503)
  return {
    fault: fault.name,
    seed,
    witness,
    requests: calls.length,
    unknown: failed.length,
    longestMs: Math.max(0, ...calls.map(({ elapsedMs }) => elapsedMs)),
    recoveryMs: Math.max(0, ...failed.map(({ sentAt, elapsedMs }) => sentAt + elapsedMs - healedAt)),
    atRestMs: performance.now() - stoppedAt,
    growthMb,
    differences: [...found, ...unexpectedAnswers(calls)],
  }
}

async function differencesOf({ stack, callers }: Stage): Promise<readonly FindingsOfKind[]> {
  try {
    return (await auditStack(stack, callers.calls())).findings
  } catch (error) {
    return [{ kind: 'no audit', count: 1, examples: [{ about: 'audit', says: String(error) }] }]
  }
}

function isExpected({ status, keyed }: Call): boolean {
  return status === undefined || [200, 202, 503].includes(status) || (keyed && status === 409)
}

/** No fault is a reason to refuse a good request for ever; the same key at once may be in a conflict. */
function unexpectedAnswers(calls: readonly Call[]): FindingsOfKind[] {
  const wrong = calls.filter((call) => !isExpected(call))
  if (wrong.length === 0) return []
  const examples = wrong
    .slice(0, 5)
    .map(({ status, requestId = '' }) => ({ about: requestId, says: `answered ${status}` }))
  return [{ kind: 'answers: unexpected', count: wrong.length, examples }]
}

async function isReady(gatewayUrl: string): Promise<boolean> {
  return fetch(`${gatewayUrl}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
    (response) => response.ok,
    () => false,
  )
}
