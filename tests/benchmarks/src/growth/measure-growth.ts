import { userConsumers as consumers } from '@nextvisit/services'
import { fillLog, startThrowAwayStack, type ThrowAwayStack } from '@nextvisit/testing/black-box'
import { measureCpu } from '../cost/measure-cpu.ts'
import { readProcessUse } from '../cost/process-use.ts'
import { openStackProbe, type StackProbe } from '../cost/stack-probe.ts'
import { type GrowthScenario, projectsOf, workspaceOf } from './growth-scenarios.ts'
import { watchLockWaits } from './watch-lock-waits.ts'

export interface GrowthFigures {
  /** Throughput from the first fact until every consumer has folded the last. */
  readonly recordsPerSecond: number
  /** CPU time per record in µs: all consumers together, and Postgres. */
  readonly consumersUs: number
  readonly postgresUs: number
  readonly transactions: number
  /** Number of statements waiting for a lock, mean of samples. */
  readonly lockWaits: number
  /** Memory of the evaluator's first process afterwards. */
  readonly evaluatorMb: number
}

const NAMES = consumers.map(({ name }) => name)

/**
 * Starts a stack of the scenario's size, fills it, and measures the fold of `facts` more. `check` receives the stack
 * afterwards.
 */
export async function measureGrowth(
  scenario: GrowthScenario,
  facts: number,
  check: (stack: ThrowAwayStack) => Promise<void>,
): Promise<GrowthFigures> {
  const stack = await startThrowAwayStack({ workspace: workspaceOf(scenario) })
  try {
    for (let more = 1; more < scenario.processes; more += 1) {
      await Promise.all(NAMES.map((name) => stack.startReplica(name)))
    }
    const probe = await openStackProbe(stack)
    const filling = { projects: projectsOf(scenario), users: scenario.usersInProject, secretKey: stack.secretKey }
    await fillLog(stack.brokers, { ...filling, facts: scenario.factsBefore })
    await probe.waitUntilCaughtUp()
    const figures = await measureFolding(stack, probe, () => fillLog(stack.brokers, { ...filling, facts }), facts)
    await probe.close()
    await check(stack)
    return figures
  } finally {
    await stack.remove()
  }
}

async function measureFolding(
  stack: ThrowAwayStack,
  probe: StackProbe,
  fill: () => Promise<void>,
  facts: number,
): Promise<GrowthFigures> {
  const transactionsBefore = await probe.transactions()
  const locks = await watchLockWaits(stack.adminDatabaseUrl)
  const { result: seconds, cpuSeconds } = await measureCpu(stack, async () => {
    const beganAt = performance.now()
    await fill()
    await probe.waitUntilCaughtUp()
    return (performance.now() - beganAt) / 1_000
  })
  const lockWaits = await locks.end()
  const transactions = (await probe.transactions()) - transactionsBefore
  const uses = await readProcessUse(stack.processes())
  const usedUs = (isCounted: (name: string) => boolean): number => {
    const counted = Object.entries(cpuSeconds).filter(([name]) => isCounted(name))
    return counted.reduce((sum, [, used]) => sum + used, 0) * (1e6 / facts)
  }
  return {
    recordsPerSecond: facts / seconds,
    consumersUs: usedUs((name) => NAMES.some((consumer) => name.startsWith(consumer))),
    postgresUs: usedUs((name) => name === 'postgres'),
    transactions: transactions / facts,
    lockWaits,
    evaluatorMb: (uses.get('form-trigger-evaluator')?.residentBytes ?? 0) / 2 ** 20,
  }
}
