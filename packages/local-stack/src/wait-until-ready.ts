import { setTimeout as sleep } from 'node:timers/promises'
import { StackError } from './errors.ts'
import type { ServiceProcess } from './service-processes.ts'
import type { Supervised } from './supervise.ts'

const READY_WITHIN_MS = 60_000
const ASK_EVERY_MS = 100
const GIVE_UP_AFTER_RESTARTS = 3

/** Waits until the service says that a request would succeed; gives up where it keeps ending. */
export async function waitUntilReady(
  service: ServiceProcess,
  supervised: Supervised,
  signal: AbortSignal,
): Promise<void> {
  const until = performance.now() + READY_WITHIN_MS
  while (!(await answersOk(service.readyUrl))) {
    if (signal.aborted) throw new StackError('INTERRUPTED', `${service.name} was stopped before it was ready.`)
    if (supervised.restarts() >= GIVE_UP_AFTER_RESTARTS) {
      throw new StackError('PART_ENDED', `${service.name} keeps ending at its start. Its log: ${service.plan.logFile}`)
    }
    if (performance.now() > until) {
      throw new StackError(
        'NOT_READY',
        `${service.name} was not ready within ${READY_WITHIN_MS / 1000} s. Its log: ${service.plan.logFile}`,
      )
    }
    await sleep(ASK_EVERY_MS)
  }
}

async function answersOk(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
    async (response) => {
      await response.body?.cancel()
      return response.ok
    },
    () => false,
  )
}
