import { setTimeout as sleep } from 'node:timers/promises'
import { FOLDING_CONSUMERS } from './campaign-stack.ts'
import type { Fault } from './fault.ts'
import { queryRows } from './query-rows.ts'

const LASTS_MS = 4_000
const EVERY_MS = 300

/** Every role may terminate its own connections. */
const TERMINATE = `
  SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
  WHERE usename = current_user AND pid <> pg_backend_pid()`

/** Terminates all connections repeatedly, even during commits. */
const terminateConnections: Fault['inject'] = async ({ stack }) => {
  let ended = 0
  const healed = new AbortController()
  const terminate = async (): Promise<void> => {
    while (!healed.signal.aborted) {
      const asked = await Promise.allSettled(FOLDING_CONSUMERS.map((consumer) => queryRows(stack, consumer, TERMINATE)))
      // A failed statement terminated nothing; the next round tries again.
      ended += asked.flatMap((result) => (result.status === 'fulfilled' ? result.value : [])).length
      await sleep(EVERY_MS)
    }
  }
  const terminating = terminate()
  return {
    lastsMs: LASTS_MS,
    heal: async () => {
      healed.abort()
      await terminating
    },
    witness: async () => (ended > 0 ? `${ended} connections ended` : undefined),
  }
}

export const postgresFaults: readonly Fault[] = [
  { name: 'terminate all database connections', family: 'Postgres', isShort: true, inject: terminateConnections },
]
