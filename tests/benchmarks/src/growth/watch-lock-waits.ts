import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'

const EVERY_MS = 50
const WAITING = "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock'"

/** Samples the number of statements waiting for a lock. `end` resolves to the mean. */
export async function watchLockWaits(adminDatabaseUrl: string): Promise<{ readonly end: () => Promise<number> }> {
  const client = new Client({ connectionString: adminDatabaseUrl })
  await client.connect()
  const ending = new AbortController()
  let samples = 0
  let waiting = 0
  const watch = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const { rows } = await client.query<{ waiting: number }>(WAITING)
      samples += 1
      waiting += rows[0]?.waiting ?? 0
      await sleep(EVERY_MS)
    }
  }
  const watching = watch()
  return {
    end: async () => {
      ending.abort()
      await watching
      await client.end()
      return waiting / samples
    },
  }
}
