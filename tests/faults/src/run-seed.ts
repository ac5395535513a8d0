import { createRecordingClient } from './recording-client.ts'
import { startCampaignStack } from './campaign-stack.ts'
import type { Fault, FaultContext } from './fault.ts'
import type { FaultResult } from './fault-result.ts'
import { type Load, runFault } from './run-fault.ts'
import { createRandom } from './seeded-random.ts'
import { createTraffic } from './traffic.ts'

/** A stack under test and its callers. */
export type CampaignContext = Omit<FaultContext, 'random'>

interface SeedOptions {
  readonly seed: number
  readonly faults: readonly Fault[]
  readonly onResult?: (result: FaultResult) => void | Promise<void>
  /** A running campaign, which its owner removes. Default: a new campaign. */
  readonly campaign?: CampaignContext
  /** Load of each fault. Default: that of the full campaign. */
  readonly load?: Load
}

/** Runs faults one after the other against one stack. The order depends on the seed; a subset of faults keeps it. */
export async function runSeed({ seed, faults, onResult, campaign, load }: SeedOptions): Promise<FaultResult[]> {
  const order = faults
    .map((fault) => ({ fault, place: createRandom(seed, `place of ${fault.name}`).next() }))
    .toSorted((one, other) => one.place - other.place)
  const results: FaultResult[] = []
  let context = campaign
  const leave = async (): Promise<void> => {
    if (context !== campaign) await context?.stack.remove()
    context = undefined
  }
  try {
    for (const { fault } of order) {
      context ??= await startCampaign(seed)
      const result = await runFault(fault, seed, context, load).catch((error: unknown) => brokenRun(fault, seed, error))
      results.push(result)
      await onResult?.(result)
      if (result.differences.length === 0) continue
      // A new stack, because the same difference would be found after each later fault.
      await leave()
    }
  } finally {
    await leave()
  }
  return results
}

/** The short form checks only correctness, so it need not watch the recovered stack for long, nor under much load. */
const SHORT_LOAD: Load = { perSecond: 20, calmMs: 500 }

/** Runs faults as `pnpm test` does. */
export async function runShort(options: Omit<SeedOptions, 'load'>): Promise<FaultResult[]> {
  const { seed } = options
  const campaign = options.campaign ?? (await startCampaign(seed, { isCheap: true }))
  try {
    return await runSeed({ ...options, campaign, load: SHORT_LOAD })
  } finally {
    if (campaign !== options.campaign) await campaign.stack.remove()
  }
}

/** The result of a fault that could not run. It counts as a difference, so that the campaign fails. */
function brokenRun({ name: fault, family }: Fault, seed: number, error: unknown): FaultResult {
  const examples = [{ about: fault, says: String(error) }]
  const nothing = { requests: 0, unknown: 0, needless: 0, longestMs: 0, recoveryMs: 0, atRestMs: 0, tookMs: 0 }
  return { fault, family, seed, ...nothing, differences: [{ kind: 'broken run', count: 1, examples }] }
}

/** Starts a new stack in which every user is known. */
export async function startCampaign(
  seed: number,
  options: Parameters<typeof startCampaignStack>[0] = {},
): Promise<CampaignContext> {
  const stack = await startCampaignStack(options)
  const client = createRecordingClient(stack.gatewayUrl)
  const random = createRandom(seed, 'beginning')
  await createTraffic({ client, projects: stack.projects, random, perSecond: 1 }).begin()
  const hostile = { project: stack.hostile, client: createRecordingClient(stack.gatewayUrl) }
  return { stack, client, hostile }
}
