import { createRecordingClient } from './recording-client.ts'
import { startCampaignStack } from './campaign-stack.ts'
import type { Fault, FaultContext } from './fault.ts'
import type { FaultResult } from './fault-result.ts'
import { runFault } from './run-fault.ts'
import { createRandom } from './seeded-random.ts'
import { createTraffic } from './traffic.ts'

export interface SeedOptions {
  readonly seed: number
  readonly faults: readonly Fault[]
  readonly onResult?: (result: FaultResult) => void | Promise<void>
}

/** Runs faults one after the other against one stack. The order depends on the seed, and is the same for a subset of faults. */
export async function runSeed({ seed, faults, onResult }: SeedOptions): Promise<FaultResult[]> {
  const order = faults
    .map((fault) => ({ fault, place: createRandom(seed, `place of ${fault.name}`).next() }))
    .toSorted((one, other) => one.place - other.place)
  const results: FaultResult[] = []
  let context: Omit<FaultContext, 'random'> | undefined
  try {
    for (const { fault } of order) {
      context ??= await newContext(seed)
      const result = await runFault(fault, seed, context).catch((error: unknown) => brokenRun(fault, seed, error))
      results.push(result)
      await onResult?.(result)
      if (result.differences.length === 0) continue
      // A new stack: otherwise the same difference would be found after each later fault.
      await context.stack.remove()
      context = undefined
    }
  } finally {
    await context?.stack.remove()
  }
  return results
}

/** The result of a fault that could not run. It counts as a difference, so that it is noticed. */
function brokenRun({ name: fault, family }: Fault, seed: number, error: unknown): FaultResult {
  const examples = [{ about: fault, says: String(error) }]
  const nothing = { requests: 0, unknown: 0, needless: 0, longestMs: 0, recoveryMs: 0, atRestMs: 0, tookMs: 0 }
  return { fault, family, seed, ...nothing, differences: [{ kind: 'broken run', count: 1, examples }] }
}

async function newContext(seed: number): Promise<Omit<FaultContext, 'random'>> {
  const stack = await startCampaignStack()
  const client = createRecordingClient(stack.gatewayUrl)
  const random = createRandom(seed, 'beginning')
  await createTraffic({ client, projects: stack.projects, random, perSecond: 1 }).begin()
  const hostile = { project: stack.hostile, client: createRecordingClient(stack.gatewayUrl) }
  return { stack, client, hostile }
}
