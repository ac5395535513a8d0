import { setTimeout as sleep } from 'node:timers/promises'
import { CONSUMERS, type CampaignStack } from './campaign-stack.ts'

const EVERY_MS = 500
/** A service may make itself at home in the outage first: its timers, its errors, code that it runs for the first time. */
const WARM_UP_MS = 5_000
const WINDOW_MS = 5_000
const SERVICES = ['gateway', ...CONSUMERS]
/** What the program holds: its objects, and buffers outside of the heap. */
const HELD = /^nodejs_(?:heap_size_used|external_memory)_bytes\{.*\} (\S+)$/gm

interface Sample {
  readonly process: string
  readonly sinceMs: number
  readonly bytes: number
}

/** Watches what each service holds on to, from now on. */
export interface MemoryWatch {
  /** Of the service that grew most, in MB. */
  readonly stop: () => Promise<number>
}

/**
 * The least that is held in some seconds is what collecting garbage can't free. Where that is higher in the last seconds
 * than in the first ones, something piles up. A process that comes anew meanwhile is compared with itself only.
 */
export async function watchMemory(stack: CampaignStack): Promise<MemoryWatch> {
  const samples: Sample[] = []
  const startedAt = performance.now()
  const stopping = new AbortController()
  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const sinceMs = performance.now() - startedAt
      const found = await Promise.all(SERVICES.map((service) => heldBy(stack, service)))
      samples.push(...found.flatMap((one) => one ?? []).map((one) => ({ ...one, sinceMs })))
      await sleep(EVERY_MS)
    }
  }
  const watching = watch()
  return {
    stop: async () => {
      stopping.abort()
      await watching
      const growths = growthsOf(samples, performance.now() - startedAt)
      if (growths.length === 0) throw new Error('No service told of its memory')
      return Math.max(0, ...growths.map((bytes) => Math.round(bytes / 2 ** 20)))
    },
  }
}

/** In bytes, of each process that lived through all of it. */
export function growthsOf(samples: readonly Sample[], tookMs: number): number[] {
  const isEarly = ({ sinceMs }: Sample): boolean => sinceMs >= WARM_UP_MS && sinceMs < WARM_UP_MS + WINDOW_MS
  const isLate = ({ sinceMs }: Sample): boolean => sinceMs >= tookMs - WINDOW_MS
  return [...Map.groupBy(samples, ({ process }) => process).values()].flatMap((all) => {
    const [early, late] = [all.filter(isEarly), all.filter(isLate)]
    return early.length > 0 && late.length > 0 ? [leastOf(late) - leastOf(early)] : []
  })
}

function leastOf(samples: readonly Sample[]): number {
  return Math.min(...samples.map(({ bytes }) => bytes))
}

/** As it tells itself; undefined where it does not answer. */
async function heldBy(stack: CampaignStack, service: string): Promise<Omit<Sample, 'sinceMs'> | undefined> {
  try {
    const process = `${service} ${stack.processes().get(service)?.pid}`
    const response = await fetch(`${stack.internalUrlOf(service)}/metrics`, { signal: AbortSignal.timeout(2_000) })
    const held = [...(await response.text()).matchAll(HELD)]
    return held.length === 2 ? { process, bytes: held.reduce((sum, [, value]) => sum + Number(value), 0) } : undefined
  } catch {
    return undefined
  }
}
