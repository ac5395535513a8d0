import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FindingsOfKind } from '@nextvisit/audit'
import { eventually } from '../stack.ts'
import { auditStack } from './campaign-stack.ts'
import type { Fault, Injected, Stage } from './fault.ts'
import { judgeCalls, type Recovery } from './judge-calls.ts'
import { watchMemory } from './memory.ts'
import { createRandom } from './seeded-random.ts'
import { createTraffic } from './traffic.ts'

const REQUESTS_PER_SECOND = 40
const CALM_BEFORE_MS = 1_000
const CALM_AFTER_MS = 2_000
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

interface Struck extends Recovery {
  readonly injected: Injected
  readonly healedAt: number
}

/** Lets a fault strike under load, heals it, waits until all is at rest, and counts everything again. */
export async function runFault(fault: Fault, seed: number, stage: Omit<Stage, 'random'>): Promise<FaultResult> {
  const { stack, callers } = stage
  const random = createRandom(seed, `traffic of ${fault.name}`)
  const traffic = createTraffic({ callers, customers: stack.customers, random, perSecond: REQUESTS_PER_SECOND })
  const callsBefore = callers.calls().length
  const memory = await watchMemory(stack)
  let struck: Struck
  let growthMb: number
  traffic.start()
  try {
    struck = await strike(fault, { ...stage, random: createRandom(seed, fault.name) })
  } finally {
    await traffic.stop()
    growthMb = await memory.stop()
  }
  const witness = await struck.injected.witness()
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
    recoveryMs: Math.max(0, ...failed.map(({ sentAt, elapsedMs }) => sentAt + elapsedMs - struck.healedAt)),
    atRestMs: performance.now() - stoppedAt,
    growthMb,
    differences: [...found, ...judgeCalls(calls, struck)],
  }
}

/** Some calm before the fault, and some after it, once the gateway is ready again. */
async function strike(fault: Fault, stage: Stage): Promise<Struck> {
  await sleep(CALM_BEFORE_MS)
  const injected = await fault.inject(stage)
  try {
    await sleep(injected.lastsMs)
  } finally {
    await injected.heal()
  }
  const healedAt = performance.now()
  const isBack = await eventually(() => isReady(stage.stack.gatewayUrl), Boolean, READY_WITHIN_MS)
  const calmSince = performance.now()
  await sleep(CALM_AFTER_MS)
  return { injected, healedAt, isReady: isBack, calmSince }
}

async function differencesOf({ stack, callers }: Omit<Stage, 'random'>): Promise<readonly FindingsOfKind[]> {
  try {
    return (await auditStack(stack, callers.calls())).findings
  } catch (error) {
    return [{ kind: 'no audit', count: 1, examples: [{ about: 'audit', says: String(error) }] }]
  }
}

async function isReady(gatewayUrl: string): Promise<boolean> {
  return fetch(`${gatewayUrl}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
    (response) => response.ok,
    () => false,
  )
}
