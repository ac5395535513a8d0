import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Calls `request` `perSecond` times per second until `signal` aborts, then waits for the last answers. The load is open-loop:
 * slow answers do not slow it down. At most `maxOpen` requests are open at once.
 */
export async function runPacedLoad(
  perSecond: number,
  signal: AbortSignal,
  request: (sequence: number) => Promise<unknown>,
  maxOpen = 2_000,
): Promise<number> {
  const startedAt = performance.now()
  const open = new Set<Promise<unknown>>()
  let sent = 0
  while (!signal.aborted) {
    const due = Math.floor(((performance.now() - startedAt) / 1_000) * perSecond)
    while (sent < due && open.size < maxOpen) {
      const call = request(sent++).finally(() => open.delete(call))
      open.add(call)
    }
    await sleep(5)
  }
  await Promise.allSettled(open)
  return sent
}
