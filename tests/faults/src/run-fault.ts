import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FindingsOfKind } from '@nextvisit/audit'
import { eventually } from '@nextvisit/testing/black-box'
import { auditStack } from './campaign-stack.ts'
import { isAtRest } from './at-rest.ts'
import type { Call } from './callers.ts'
import type { Fault, Injected, Span, Stage } from './fault.ts'
import type { FaultResult } from './fault-result.ts'
import { isAcknowledged, isCalm, isRefused, judgeCalls, type Recovery } from './judge-calls.ts'
import { createRandom } from './seeded-random.ts'
import { createTraffic } from './traffic.ts'

const REQUESTS_PER_SECOND = 40
/** All are at work by then; a process that is killed while it has nothing to do loses nothing. */
const ACKNOWLEDGED_BEFORE = 30
const AT_WORK_WITHIN_MS = 15_000
/** Longer than recovery may take: a request that fails late is to be seen. */
const CALM_WITHIN_MS = 15_000
const READY_WITHIN_MS = 60_000
const AT_REST_WITHIN_MS = 120_000
const MOMENT_MS = 30_000

interface Struck extends Recovery {
  readonly injected: Injected
  readonly struckAt: number
  readonly healedAt: number
}

/** Lets a fault strike under load, heals it, waits until all is at rest, and counts everything again. */
export async function runFault(fault: Fault, seed: number, stage: Omit<Stage, 'random'>): Promise<FaultResult> {
  const { stack, callers } = stage
  const startedAt = performance.now()
  const random = createRandom(seed, `traffic of ${fault.name}`)
  const traffic = createTraffic({ callers, customers: stack.customers, random, perSecond: REQUESTS_PER_SECOND })
  const callsBefore = callers.calls().length
  let struck: Struck
  traffic.start()
  try {
    struck = await strike(fault, { ...stage, random: createRandom(seed, fault.name) })
  } finally {
    await traffic.stop()
  }
  const witness = await struck.injected.witness()
  const stoppedAt = performance.now()
  const found = await differencesAtRest(stage)
  const calls = callers.calls().slice(callsBefore)
  const stopped = struck.injected.gatewayStopped?.() ?? { from: 0, to: 0 }
  const failed = calls.filter(isRefused)
  return {
    fault: fault.name,
    family: fault.family,
    seed,
    witness,
    requests: calls.length,
    unknown: failed.length,
    needless: failed.filter((call) => fault.mayRefuse !== true || endOf(call) < struck.struckAt).length,
    longestMs: Math.max(0, ...calls.map((call) => answeredAfterMs(call, stopped))),
    recoveryMs: Math.max(0, ...failed.map((call) => endOf(call) - struck.healedAt)),
    atRestMs: performance.now() - stoppedAt,
    tookMs: performance.now() - startedAt,
    ...struck.injected.measured?.(),
    differences: [...found, ...judgeCalls(calls, struck)],
  }
}

function endOf({ sentAt, elapsedMs }: Call): number {
  return sentAt + elapsedMs
}

/** Without the time in which the gateway was stopped: the bound is about one that may run. */
function answeredAfterMs(call: Call, { from, to }: Span): number {
  return call.elapsedMs - Math.max(0, Math.min(endOf(call), to) - Math.max(call.sentAt, from))
}

/** In the middle of the work; with some calm after it, once the gateway is ready again, or without, if none comes. */
async function strike(fault: Fault, stage: Stage): Promise<Struck> {
  const acknowledgedSince = (instant: number) => async () =>
    stage.callers.calls().filter((call) => call.sentAt >= instant && isAcknowledged(call)).length
  await eventually(acknowledgedSince(performance.now()), (count) => count >= ACKNOWLEDGED_BEFORE, AT_WORK_WITHIN_MS, 20)
  const struckAt = performance.now()
  const injected = await fault.inject(stage)
  try {
    await sleep(injected.lastsMs)
  } finally {
    await injected.heal()
  }
  const healedAt = performance.now()
  const isBack = await eventually(() => isReady(stage.stack.gatewayUrl), Boolean, READY_WITHIN_MS)
  const calmSince = performance.now()
  await eventually(async () => isCalm(stage.callers.calls(), calmSince, performance.now()), Boolean, CALM_WITHIN_MS)
  return { injected, struckAt, healedAt, isReady: isBack, calmSince }
}

/** What counting again finds once all is read; what is on its way without being in the log may take a moment more. */
async function differencesAtRest(stage: Omit<Stage, 'random'>): Promise<readonly FindingsOfKind[]> {
  const until = performance.now() + AT_REST_WITHIN_MS
  await eventually(() => isAtRest(stage.stack), Boolean, AT_REST_WITHIN_MS)
  return eventually(
    () => differencesOf(stage),
    ({ length }) => length === 0,
    Math.max(MOMENT_MS, until - performance.now()),
  )
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
