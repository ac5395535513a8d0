import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { eventually } from '@nextvisit/testing/black-box'
import type { ConsumerName } from '@nextvisit/services'
import { type CampaignStack, FOLDING_CONSUMERS, type FoldingConsumer } from './campaign-stack.ts'
import { afterCommitOf } from './commits-of.ts'
import { longOutage, OUTAGE_MS } from './long-outage.ts'
import { type Fault, type Injected, nothingToHeal, type FaultContext } from './fault.ts'

const PARTS = ['gateway', ...FOLDING_CONSUMERS, 'kafka', 'postgres', 'redis'] as const
export type PartName = (typeof PARTS)[number] | ConsumerName

const BACK_WITHIN_MS = 60_000
export const FREEZE_MS = 4_000
/** Large requests per second. `taken` is low, because every acknowledged request is audited again after each later fault. */
const HEAVY_PER_SECOND = { refused: 60, taken: 8 }

const pidOf = (stack: CampaignStack, name: string): number | undefined => stack.processes().get(name)?.pid

const isConsumer = (name: PartName): name is FoldingConsumer => FOLDING_CONSUMERS.some((consumer) => consumer === name)

/**
 * Ends a process with a signal. The supervisor replaces the process. `duringCommits`: a consumer ends while it commits, or the
 * fault did not strike.
 */
export function ends(
  name: PartName,
  signal: 'SIGKILL' | 'SIGTERM',
  { duringCommits = true } = {},
): (context: FaultContext) => Promise<Injected> {
  return async ({ stack }: FaultContext) => {
    const before = pidOf(stack, name)
    const isAtWork = !duringCommits || !isConsumer(name) || (await afterCommitOf(stack, name))
    stack.kill(name, signal)
    return {
      lastsMs: 0,
      heal: nothingToHeal,
      witness: async () => {
        const isNew = (pid: number | undefined): boolean => pid !== undefined && pid !== before
        const after = await eventually(async () => pidOf(stack, name), isNew, BACK_WITHIN_MS)
        return isAtWork && isNew(after) ? `process ${before} became ${after}` : undefined
      },
    }
  }
}

/** Lists a process and its children, because Postgres uses one process per connection. */
async function withChildren(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=', '-o', 'ppid='])
  const lines = stdout.trim().split('\n')
  const children = lines.map((line) => line.trim().split(/\s+/).map(Number)).filter(([, parent]) => parent === pid)
  return [pid, ...children.flatMap(([child]) => child ?? [])]
}

async function stateOf(pid: number): Promise<string> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'state=', '-p', String(pid)])
  return stdout.trim()
}

function send(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // The process has ended.
    }
  }
}

/** Stops a part's processes and continues them later. */
export function freezes(name: PartName, lastsMs: number): Fault['inject'] {
  return async ({ stack }) => {
    const pid = pidOf(stack, name)
    if (pid === undefined) throw new Error(`${name} does not run`)
    const pids = await withChildren(pid)
    const from = performance.now()
    let to = from
    send(pids, 'SIGSTOP')
    const state = await stateOf(pid)
    return {
      lastsMs,
      heal: async () => {
        send(pids, 'SIGCONT')
        to = performance.now()
      },
      witness: async () =>
        state.startsWith('T')
          ? `${pids.length} processes stopped for ${((to - from) / 1_000).toFixed(1)} s`
          : undefined,
      ...(name === 'gateway' && { gatewayStopped: () => ({ from, to }) }),
    }
  }
}

const named = (
  verb: string,
  names: readonly PartName[],
  short: readonly PartName[],
  how: (name: PartName) => Fault['inject'],
) =>
  names.map(
    (name): Fault => ({
      name: `${verb} ${name}`,
      family: verb,
      isShort: short.includes(name),
      mayRefuse: true,
      inject: how(name),
    }),
  )

/** Restarts services one after the other, each when the previous service runs again. */
export const rollingRestart: Fault = {
  name: 'rolling restart',
  family: 'rolling restart',
  mayRefuse: true,
  inject: async (context) => {
    const services = ['gateway', ...FOLDING_CONSUMERS, 'user-eraser'] as const
    const witnesses: (string | undefined)[] = []
    for (const name of services) {
      const { witness } = await ends(name, 'SIGTERM')(context)
      witnesses.push(await witness())
    }
    return {
      lastsMs: 0,
      heal: nothingToHeal,
      witness: async () => (witnesses.every(Boolean) ? `${services.length} processes are new` : undefined),
    }
  },
}

export const processFaults: readonly Fault[] = [
  // `pnpm test` kills Postgres in an erasure (erasure-faults.ts).
  ...named('kill', PARTS, ['gateway', 'form-trigger-evaluator', 'kafka'], (name) => ends(name, 'SIGKILL')),
  ...named('terminate', ['gateway', ...FOLDING_CONSUMERS], [], (name) => ends(name, 'SIGTERM')),
  ...named('freeze', ['gateway'], [], (name) => freezes(name, FREEZE_MS)),
  ...named('freeze', ['kafka'], [], (name) => longOutage(freezes(name, OUTAGE_MS), HEAVY_PER_SECOND.refused)),
  ...named('freeze', ['postgres', 'redis'], [], (name) => longOutage(freezes(name, OUTAGE_MS), HEAVY_PER_SECOND.taken)),
  rollingRestart,
]
