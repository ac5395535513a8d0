import { setTimeout as sleep } from 'node:timers/promises'
import { CONSUMERS, type CampaignStack } from './campaign-stack.ts'

const SERVICES = ['gateway', ...CONSUMERS]
const COLLECTED_AFTER_MS = 500
/** What the program holds: its objects, and buffers outside of the heap. */
const HELD = /^nodejs_(?:heap_size_used|external_memory)_bytes\{.*\} (\S+)$/gm

/** In bytes, by process id: one that came anew is another. */
export type Held = ReadonlyMap<number, number>

/**
 * What each service holds once its garbage is collected. One that does not answer is left out, and shows nothing. Collecting
 * is done by one after the other: it holds up who does it, on a small machine all others, too, and requests are under way.
 */
export async function heldMemory(stack: CampaignStack): Promise<Held> {
  const held = new Map<number, number>()
  for (const { service, pid } of await answering(stack)) {
    collectIn(pid)
    await sleep(COLLECTED_AFTER_MS)
    const bytes = await heldBy(stack, service)
    if (bytes !== undefined) held.set(pid, bytes)
  }
  return held
}

/** One that has just come up may not know the signal yet, which would end it. */
async function answering(stack: CampaignStack): Promise<{ readonly service: string; readonly pid: number }[]> {
  const found = await Promise.all(
    SERVICES.map(async (service) => {
      const pid = stack.processes().get(service)?.pid
      return pid === undefined || (await heldBy(stack, service)) === undefined ? [] : [{ service, pid }]
    }),
  )
  return found.flat()
}

/** Of the service that grew most, in MB; undefined where not every one was seen before and after, and lived through it. */
export function growthMb(before: Held, after: Held, services = SERVICES.length): number | undefined {
  const growths = [...after].flatMap(([pid, bytes]) => {
    const earlier = before.get(pid)
    return earlier === undefined ? [] : [(bytes - earlier) / 2 ** 20]
  })
  return growths.length < services ? undefined : Math.round(Math.max(0, ...growths))
}

/** Services of a campaign have collect-on-signal.ts in them. */
function collectIn(pid: number): void {
  try {
    process.kill(pid, 'SIGUSR2')
  } catch {
    // It has ended by itself.
  }
}

/** As it tells itself; undefined where it does not answer. */
async function heldBy(stack: CampaignStack, service: string): Promise<number | undefined> {
  try {
    const response = await fetch(`${stack.internalUrlOf(service)}/metrics`, { signal: AbortSignal.timeout(3_000) })
    const held = [...(await response.text()).matchAll(HELD)]
    return held.length === 2 ? held.reduce((sum, [, value]) => sum + Number(value), 0) : undefined
  } catch {
    return undefined
  }
}
