import { setTimeout as sleep } from 'node:timers/promises'
import { fillLog, type ThrowAwayStack } from '@nextvisit/testing/black-box'
import type { HttpAnswer } from '../load/http-connection.ts'
import { runLoad } from '../load/run-load.ts'
import { type CostFigures, type LoadFigures, measureFixedWork } from './cost-figures.ts'
import { type CostLoad, createCostLoad, USERS } from './cost-loads.ts'
import type { Rate } from './cost-options.ts'
import { type Measurable, measureCpu } from './measure-cpu.ts'
import { readProcessUse } from './process-use.ts'
import type { StackProbe } from './stack-probe.ts'

/** Time in ms until the heartbeats, offset commits and statistics after a load are over. */
const QUIET_AFTER_MS = 3_000
/** Warm-up in seconds. The first requests of a kind cost many times more, until they are compiled. */
const WARM_SECONDS = 3
const MOST_FAILED_SECONDS = 30
const PARTS = ['postgres', 'kafka', 'redis']

/**
 * Identifies every user of the loads. A process that has just started on a busy machine may refuse some users. Then all are
 * identified again, because only a round without failures has reached all of them.
 */
export async function identifyUsers(stack: ThrowAwayStack, probe: StackProbe): Promise<void> {
  const { next } = createCostLoad('identifies', stack)
  let inTurn = 0
  for (let failures = 0; inTurn < USERS; ) {
    const { answered, failed } = await runLoad({ url: stack.gatewayUrl, next, seconds: 1, connections: 16 })
    inTurn = failed > 0 ? 0 : inTurn + answered
    failures += failed > 0 ? 1 : 0
    if (failures > MOST_FAILED_SECONDS) throw new Error('The gateway refuses identifies; see its log.')
  }
  await probe.waitUntilCaughtUp()
}

/** Measures the cores in use without load, by process. */
export async function measureIdle(processes: Measurable, seconds: number): Promise<Record<string, number>> {
  await sleep(QUIET_AFTER_MS)
  const { result, cpuSeconds } = await measureCpu(processes, async () => {
    const beganAt = performance.now()
    await sleep(seconds * 1_000)
    return (performance.now() - beganAt) / 1_000
  })
  return mapValues(cpuSeconds, (cpu) => cpu / result)
}

/** Loads the stack at one rate for `seconds`, then waits until all consumers have caught up. */
export async function measureLoad(
  stack: ThrowAwayStack,
  probe: StackProbe,
  { load, rate, seconds }: { readonly load: CostLoad; readonly rate: Rate; readonly seconds: number },
): Promise<LoadFigures> {
  let late = 0
  const onAnswer = ({ status = 0, body }: HttpAnswer): void => {
    if (status < 300 && !body.includes(load.expected)) late += 1
  }
  const perSecond = rate === 'flat' ? undefined : rate / load.eventsPerRequest
  const workBefore = measureFixedWork()
  const before = await probe.transactions()
  const { result, cpuSeconds, ownSeconds, otherSeconds } = await measureCpu(stack, () =>
    runLoad({ url: stack.gatewayUrl, next: load.next, seconds, perSecond, onAnswer }),
  )
  const lagRecords = await probe.lagRecords()
  const transactions = (await probe.transactions()) - before
  const catchUpSeconds = await probe.waitUntilCaughtUp()
  const events = result.answered * load.eventsPerRequest
  return {
    workMs: (workBefore + measureFixedWork()) / 2,
    perSecond: events / result.seconds,
    foldedPerSecond: events / (result.seconds + catchUpSeconds),
    cpuMs: mapValues(cpuSeconds, (cpu) => (cpu * 1_000) / events),
    generatorMs: (ownSeconds * 1_000) / events,
    otherCores: otherSeconds / result.seconds,
    transactions: transactions / events,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    lagRecords,
    failed: result.failed,
    late,
  }
}

/** Sends a kind of request before it is measured. */
export async function warmUp(stack: ThrowAwayStack, probe: StackProbe, { next }: CostLoad): Promise<void> {
  await runLoad({ url: stack.gatewayUrl, next, seconds: WARM_SECONDS })
  await probe.waitUntilCaughtUp()
}

/** Measures the resident memory of each service after many records of all kinds. */
export async function measureMemoryAfterLoad(
  stack: ThrowAwayStack,
  probe: StackProbe,
  records: number,
): Promise<CostFigures['memory']> {
  const [organization] = stack.organizations
  const [project] = organization?.projects ?? []
  if (!organization || !project) throw new Error('The workspace has no project.')
  await fillLog(stack.brokers, {
    projects: [{ organization: organization.id, project: project.id }],
    facts: records,
    users: 19_997,
    secretKey: stack.secretKey,
  })
  await probe.waitUntilCaughtUp()
  const uses = [...(await readProcessUse(stack.processes()))].filter(([name]) => !PARTS.includes(name))
  return { records, residentMb: Object.fromEntries(uses.map(([name, use]) => [name, use.residentBytes / 2 ** 20])) }
}

function mapValues(record: Record<string, number>, change: (value: number) => number): Record<string, number> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))
}
