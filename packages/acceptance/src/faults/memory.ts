import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { CONSUMERS, type CampaignStack } from './campaign-stack.ts'

const EVERY_MS = 1_000
const SERVICES: readonly string[] = ['gateway', ...CONSUMERS]

/** Watches how much the services grow. A process that came anew begins anew. */
export interface MemoryWatch {
  /** The greatest growth of one service, in MB. */
  readonly stop: () => number
}

export function watchMemory(stack: CampaignStack): MemoryWatch {
  const first = new Map<number, number>()
  const most = new Map<number, number>()
  const sample = async (): Promise<void> => {
    const running = [...stack.processes()].filter(([name]) => SERVICES.includes(name)).map(([, { pid }]) => pid)
    for (const [pid, kilobytes] of await residentKilobytes(running)) {
      if (!first.has(pid)) first.set(pid, kilobytes)
      most.set(pid, Math.max(most.get(pid) ?? 0, kilobytes))
    }
  }
  const timer = setInterval(() => void sample(), EVERY_MS)
  return {
    stop: () => {
      clearInterval(timer)
      const growths = [...most].map(([pid, kilobytes]) => kilobytes - (first.get(pid) ?? kilobytes))
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
