import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, isRetryable } from '@nextvisit/database'
import { ReplayError } from './replay-error.ts'

/**
 * Shorter than Postgres waits before it looks for deadlocks: where a replay and a service wait for each other, it is the
 * replay that gives up and begins again.
 */
const LOCK_WAIT_MS = 500
const ATTEMPTS = 60
const PAUSE_MS = 250

/** Runs `work` in a transaction that holds these locks; a lock that is not to be had soon is tried for again, and again. */
export async function withLocks<Result>(
  client: Client,
  locks: readonly string[],
  work: () => Promise<Result>,
): Promise<Result> {
  await beginWithLocks(client, locks)
  try {
    const result = await work()
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

async function beginWithLocks(client: Client, locks: readonly string[]): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    try {
      await client.query('BEGIN')
      await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`)
      for (const lock of locks) await client.query(lock)
      await client.query('SET LOCAL lock_timeout = 0')
      return
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {})
      if (!isRetryable(error)) throw error
      await sleep(PAUSE_MS * Math.random())
    }
  }
  throw new ReplayError(
    'LIVE_IS_BUSY',
    'The live tables were in use all the time, so that no moment for a swap was found. Try again; what was rebuilt is kept.',
  )
}
