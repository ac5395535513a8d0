import { type Db, sql } from '@nextvisit/database'

/** Sooner than a connection without work is closed. */
const EVERY_MS = 4_000

/**
 * Asks something trivial now and then. Otherwise a pause of some seconds would close the connection, and the next statement,
 * for which a caller may wait, would open another one and plan anew: 15 to 22 ms instead of 2.
 */
export function keepConnected(db: Pick<Db, '$queryRaw'>, everyMs = EVERY_MS) {
  let timer: NodeJS.Timeout | undefined
  const ask = (): void => {
    // A connection that is lost is opened again by the next question.
    db.$queryRaw(sql`SELECT 1 AS one`).catch(() => undefined)
  }
  return {
    start: async () => {
      ask()
      timer = setInterval(ask, everyMs)
    },
    stop: async () => clearInterval(timer),
  }
}
