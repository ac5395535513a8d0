import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FindingsOfKind } from '@nextvisit/audit'
import { eventually, isReady } from '@nextvisit/testing/black-box'
import { auditStack } from './campaign-stack.ts'
import { isCaughtUp } from './caught-up.ts'
import type { RecordedCall } from './recording-client.ts'
import type { Fault, Injected, Span, FaultContext } from './fault.ts'
import type { FaultResult } from './fault-result.ts'
import { CALM_MS, isAcknowledged, isCalm, isRefused, judgeCalls, type Recovery } from './judge-calls.ts'
import { createRandom } from './seeded-random.ts'
import { createTraffic } from './traffic.ts'

/** Load of a fault. `calmMs`: time without failed requests after which it may end. */
export interface Load {
  readonly perSecond: number
  readonly calmMs: number
}

const FULL_LOAD: Load = { perSecond: 40, calmMs: CALM_MS }
/** Acknowledged requests before the fault. By then all processes work; killing an idle process would prove nothing. */
const ACKNOWLEDGED_BEFORE = 30
const AT_WORK_WITHIN_MS = 15_000
/** Time limit of the recovery. It exceeds the bound, so that a late recovery is measured. */
const CALM_WITHIN_MS = 90_000
const READY_WITHIN_MS = 60_000
const AT_REST_WITHIN_MS = 120_000
const MOMENT_MS = 30_000
/** A question opens a connection per consumer, so it takes CPU time from the consumers that it waits for. */
const ASK_EVERY_MS = 500
/** An audit reads the whole log. */
const AUDIT_EVERY_MS = 1_500

interface Struck extends Recovery {
  readonly injected: Injected
  readonly struckAt: number
  readonly healedAt: number
}

/** Injects a fault under load, heals it, waits until consumers have caught up, and audits the stack. */
export async function runFault(
  fault: Fault,
  seed: number,
  context: Omit<FaultContext, 'random'>,
  { perSecond, calmMs }: Load = FULL_LOAD,
): Promise<FaultResult> {
  const { stack, client } = context
  const startedAt = performance.now()
  const random = createRandom(seed, `traffic of ${fault.name}`)
  const traffic = createTraffic({ client, projects: stack.projects, random, perSecond })
  const callsBefore = client.calls().length
  let struck: Struck
  traffic.start()
  try {
    struck = await strike(fault, { ...context, random: createRandom(seed, fault.name) }, calmMs)
  } finally {
    await traffic.stop()
  }
  const witness = await struck.injected.witness()
  const wrong = (await struck.injected.wrong?.()) ?? []
  const stoppedAt = performance.now()
  const found = await differencesAtRest(context)
  const calls = client.calls().slice(callsBefore)
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
    ...(await struck.injected.measured?.()),
    tookMs: performance.now() - startedAt,
    differences: [...found, ...wrong, ...judgeCalls(calls, struck)],
  }
}

function endOf({ sentAt, elapsedMs }: RecordedCall): number {
  return sentAt + elapsedMs
}

/** The duration of a call, without the time in which the gateway was stopped. The bound applies to a running gateway. */
function answeredAfterMs(call: RecordedCall, { from, to }: Span): number {
  return call.elapsedMs - Math.max(0, Math.min(endOf(call), to) - Math.max(call.sentAt, from))
}

/** Strikes under load, heals, and waits until the gateway is ready and the calls are calm, within a time limit. */
async function strike(fault: Fault, context: FaultContext, calmMs: number): Promise<Struck> {
  const acknowledgedSince = (instant: number) => async () =>
    context.client.calls().filter((call) => call.sentAt >= instant && isAcknowledged(call)).length
  await eventually(acknowledgedSince(performance.now()), (count) => count >= ACKNOWLEDGED_BEFORE, AT_WORK_WITHIN_MS, 20)
  const struckAt = performance.now()
  const injected = await fault.inject(context)
  try {
    await sleep(injected.lastsMs)
  } finally {
    await injected.heal()
  }
  const healedAt = performance.now()
  const isBack = await eventually(() => isReady(context.stack.gatewayUrl), Boolean, READY_WITHIN_MS)
  const calmSince = performance.now()
  const areCalm = async () => isCalm(context.client.calls(), calmSince, performance.now(), calmMs)
  await eventually(areCalm, Boolean, CALM_WITHIN_MS)
  return { injected, struckAt, healedAt, isReady: isBack, calmSince }
}

/** Audits after everything is folded. Repeats for a while, because some pending changes are not in the log yet. */
async function differencesAtRest(context: Omit<FaultContext, 'random'>): Promise<readonly FindingsOfKind[]> {
  const until = performance.now() + AT_REST_WITHIN_MS
  await eventually(() => isCaughtUp(context.stack), Boolean, AT_REST_WITHIN_MS, ASK_EVERY_MS)
  return eventually(
    () => differencesOf(context),
    ({ length }) => length === 0,
    Math.max(MOMENT_MS, until - performance.now()),
    AUDIT_EVERY_MS,
  )
}

async function differencesOf({
  stack,
  client,
  hostile,
}: Omit<FaultContext, 'random'>): Promise<readonly FindingsOfKind[]> {
  try {
    return (await auditStack(stack, [...client.calls(), ...hostile.client.calls()])).findings
  } catch (error) {
    return [{ kind: 'no audit', count: 1, examples: [{ about: 'audit', says: String(error) }] }]
  }
}
