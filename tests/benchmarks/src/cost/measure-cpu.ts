import { readMachineCpuSeconds, readProcessUse } from './process-use.ts'

/** A stack, or other processes by name. */
export interface Measurable {
  readonly processes: () => ReadonlyMap<string, { readonly pid: number }>
}

interface Cpu<Result> {
  readonly result: Result
  /** CPU seconds of each process. */
  readonly cpuSeconds: Record<string, number>
  /** CPU seconds of this process. */
  readonly ownSeconds: number
  /** CPU seconds of everything else on the machine. */
  readonly otherSeconds: number
}

/** Measures the CPU time used during the work. */
export async function measureCpu<Result>({ processes }: Measurable, work: () => Promise<Result>): Promise<Cpu<Result>> {
  const machine = await readMachineCpuSeconds()
  const before = await readProcessUse(processes())
  const own = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(own)
  const after = await readProcessUse(processes())
  const ownSeconds = (user + system) / 1e6
  const used = [...after].map(([name, use]) => [name, use.cpuSeconds - (before.get(name)?.cpuSeconds ?? 0)] as const)
  const theirSeconds = used.reduce((sum, [, seconds]) => sum + seconds, 0)
  const otherSeconds = Math.max(0, (await readMachineCpuSeconds()) - machine - ownSeconds - theirSeconds)
  return { result, cpuSeconds: Object.fromEntries(used), ownSeconds, otherSeconds }
}
