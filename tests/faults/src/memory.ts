import { setTimeout as sleep } from 'node:timers/promises'
import { CONSUMERS, type CampaignStack } from './campaign-stack.ts'

const SERVICES = ['gateway', ...CONSUMERS]
const COLLECTED_AFTER_MS = 500
/** A process' memory: objects in the heap, and buffers outside of it. */
const MEMORY_METRICS = /^nodejs_(?:heap_size_used|external_memory)_bytes\{.*\} (\S+)$/gm

/** In bytes, by process id. A restarted process counts as another one. */
export type MemoryUse = ReadonlyMap<number, number>

/**
 * Measures each service's memory after a garbage collection. A service that does not answer is left out. The services
 * collect one after the other, because a collection blocks its process, and on a small machine the others too.
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

/** The services that answer. A process that has just started may not handle the signal yet, and would end. */
async function answering(stack: CampaignStack): Promise<{ readonly service: string; readonly pid: number }[]> {
  const found = await Promise.all(
    SERVICES.map(async (service) => {
      const pid = stack.processes().get(service)?.pid
      return pid === undefined || (await memoryOf(stack, service)) === undefined ? [] : [{ service, pid }]
    }),
  )
  return found.flat()
}

/** The growth of the service that grew most, in MB. Undefined unless every service was measured twice in the same process. */
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

/** A service's memory by its own metrics, in bytes; undefined if it does not answer. */
async function memoryOf(stack: CampaignStack, service: string): Promise<number | undefined> {
  try {
    const response = await fetch(`${stack.internalUrlOf(service)}/metrics`, { signal: AbortSignal.timeout(3_000) })
    const measured = [...(await response.text()).matchAll(MEMORY_METRICS)]
    return measured.length === 2 ? measured.reduce((sum, [, value]) => sum + Number(value), 0) : undefined
  } catch {
    return undefined
  }
}
