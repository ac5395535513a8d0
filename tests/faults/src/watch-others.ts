import { performance } from 'node:perf_hooks'
import { readUnchecked } from '@nextvisit/testing/black-box'
import type { FaultContext } from './fault.ts'
import type { Measured } from './fault-result.ts'

/** Starts to measure the effect of a hostile organization on others. The returned function stops and returns the result. */
export async function watchOthers({
  stack,
  client,
}: Pick<FaultContext, 'stack' | 'client'>): Promise<() => Promise<Measured>> {
  const readAll = () => readUnchecked([`${stack.internalUrlOf('gateway')}/metrics`])
  const [before, startedAt] = [await readAll(), performance.now()]
  return async () => {
    const sent = client.calls().filter(({ sentAt }) => sentAt >= startedAt)
    const besideMs = Math.max(0, ...sent.map(({ elapsedMs }) => elapsedMs))
    return { unchecked: (await readAll()) - before, besideMs }
  }
}
