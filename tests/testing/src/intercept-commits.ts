import type { CommitDb } from '@nextvisit/database'

/** The same database, but each commit runs inside `around`, which may fail before or after it. */
export function interceptCommits(db: CommitDb, around: (commit: () => Promise<unknown>) => Promise<void>): CommitDb {
  return { ...db, executeAll: (statements) => around(() => db.executeAll(statements)) }
}
