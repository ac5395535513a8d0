import { setTimeout as sleep } from 'node:timers/promises'
import { FOLDING_CONSUMERS, type CampaignStack } from './campaign-stack.ts'

const SERVICES = ['gateway', ...FOLDING_CONSUMERS]
const COLLECTED_AFTER_MS = 500
/** Metrics of a process' memory: objects in the heap, and buffers outside it. */
const MEMORY_METRICS = /^nodejs_(?:heap_size_used|external_memory)_bytes\{.*\} (\S+)$/gm

/** Memory in bytes by process id. A restarted process counts as another process. */
export type MemoryUse = ReadonlyMap<number, number>

/**
 * Measures each service's memory after a garbage collection, except of services that do not answer. The services
 * collect one after the other, because a collection blocks its process, and on a small machine the other processes.
 */
export async function measureMemory(stack: CampaignStack): Promise<MemoryUse> {
  const measured = new Map<number, number>()
  for (const { service, pid } of await answering(stack)) {
    collectIn(pid)
    await sleep(COLLECTED_AFTER_MS)
    const bytes = await memoryOf(stack, service)
    if (bytes !== undefined) measured.set(pid, bytes)
  }
  return measured
}

/** Lists the services that answer. A starting process may not handle the signal yet, and would end. */
async function answering(stack: CampaignStack): Promise<{ readonly service: string; readonly pid: number }[]> {
  const found = await Promise.all(
    SERVICES.map(async (service) => {
      const pid = stack.processes().get(service)?.pid
      return pid === undefined || (await memoryOf(stack, service)) === undefined ? [] : [{ service, pid }]
    }),
  )
  return found.flat()
}

/** The largest growth of a service, in MB. Undefined unless every service was measured twice in the same process. */
export function growthMb(before: MemoryUse, after: MemoryUse, services = SERVICES.length): number | undefined {
  const growths = [...after].flatMap(([pid, bytes]) => {
    const earlier = before.get(pid)
    return earlier === undefined ? [] : [(bytes - earlier) / 2 ** 20]
  })
  return growths.length < services ? undefined : Math.round(Math.max(0, ...growths))
}

/** Asks a service to collect its garbage (collect-on-signal.ts). */
function collectIn(pid: number): void {
  try {
    process.kill(pid, 'SIGUSR2')
  } catch {
    // The process has ended.
  }
}

/** Reads a service's memory from its metrics, in bytes; undefined if it does not answer. */
async function memoryOf(stack: CampaignStack, service: string): Promise<number | undefined> {
  try {
    const response = await fetch(`${stack.internalUrlOf(service)}/metrics`, { signal: AbortSignal.timeout(3_000) })
    const measured = [...(await response.text()).matchAll(MEMORY_METRICS)]
    return measured.length === 2 ? measured.reduce((sum, [, value]) => sum + Number(value), 0) : undefined
  } catch {
    return undefined
  }
}
