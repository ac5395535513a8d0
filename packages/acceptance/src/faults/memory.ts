import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { CONSUMERS, type CampaignStack } from './campaign-stack.ts'

const EVERY_MS = 1_000
const SERVICES: readonly string[] = ['gateway', ...CONSUMERS]

/** Watches how much those services grow that live through it all: one that came anew only warms up. */
export interface MemoryWatch {
  /** The greatest growth of one service, in MB. */
  readonly stop: () => Promise<number>
}

export async function watchMemory(stack: CampaignStack): Promise<MemoryWatch> {
  const most = new Map<number, number>()
  const sample = async (): Promise<ReadonlyMap<number, number>> => {
    const running = [...stack.processes()].filter(([name]) => SERVICES.includes(name)).map(([, { pid }]) => pid)
    const sizes = new Map(await residentKilobytes(running))
    for (const [pid, kilobytes] of sizes) most.set(pid, Math.max(most.get(pid) ?? 0, kilobytes))
    return sizes
  }
  const first = await sample()
  const timer = setInterval(() => void sample(), EVERY_MS)
  return {
    stop: async () => {
      clearInterval(timer)
      const last = await sample()
      const lasting = [...first].filter(([pid]) => last.has(pid))
      const growths = lasting.map(([pid, kilobytes]) => (most.get(pid) ?? kilobytes) - kilobytes)
      return Math.round(Math.max(0, ...growths) / 1_024)
    },
  }
}

/** Of those that run. */
async function residentKilobytes(pids: readonly number[]): Promise<[number, number][]> {
  const asked = promisify(execFile)('ps', ['-o', 'pid=', '-o', 'rss=', '-p', pids.join()])
  const { stdout } = await asked.catch(() => ({ stdout: '' }))
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, kilobytes]) => (pid && kilobytes ? [[pid, kilobytes] as [number, number]] : []))
}
