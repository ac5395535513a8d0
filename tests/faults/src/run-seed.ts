import { createCallers } from './callers.ts'
import { startCampaignStack } from './campaign-stack.ts'
import type { Fault, Stage } from './fault.ts'
import type { FaultResult } from './fault-result.ts'
import { runFault } from './run-fault.ts'
import { createRandom } from './seeded-random.ts'
import { createTraffic } from './traffic.ts'

export interface SeedOptions {
  readonly seed: number
  readonly faults: readonly Fault[]
  readonly onResult?: (result: FaultResult) => void | Promise<void>
}

/** Runs faults, one after the other, against one stack; in another order for another seed, also where they are but some. */
export async function runSeed({ seed, faults, onResult }: SeedOptions): Promise<FaultResult[]> {
  const order = faults
    .map((fault) => ({ fault, place: createRandom(seed, `place of ${fault.name}`).next() }))
    .toSorted((one, other) => one.place - other.place)
  const results: FaultResult[] = []
  let stage: Omit<Stage, 'random'> | undefined
  try {
    for (const { fault } of order) {
      stage ??= await newStage(seed)
      const result = await runFault(fault, seed, stage).catch((error: unknown) => brokenRun(fault, seed, error))
      results.push(result)
      await onResult?.(result)
      if (result.differences.length === 0) continue
      // What is wrong now would be found again after each further fault.
      await stage.stack.remove()
      stage = undefined
    }
  } finally {
    await stage?.stack.remove()
  }
  return results
}

/** A fault that could not even be done shows nothing, and must be seen. */
function brokenRun({ name: fault, family }: Fault, seed: number, error: unknown): FaultResult {
  const examples = [{ about: fault, says: String(error) }]
  const nothing = { requests: 0, unknown: 0, needless: 0, longestMs: 0, recoveryMs: 0, atRestMs: 0, tookMs: 0 }
  return { fault, family, seed, ...nothing, differences: [{ kind: 'broken run', count: 1, examples }] }
}

async function newStage(seed: number): Promise<Omit<Stage, 'random'>> {
  const stack = await startCampaignStack()
  const callers = createCallers(stack.gatewayUrl)
  const random = createRandom(seed, 'beginning')
  await createTraffic({ callers, customers: stack.customers, random, perSecond: 1 }).begin()
  return { stack, callers }
}
