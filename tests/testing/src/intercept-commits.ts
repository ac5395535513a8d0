import type { CommitDb } from '@nextvisit/database'

/** Wraps a database so that each commit runs inside `around`, which may fail before or after the commit. */
export function interceptCommits(db: CommitDb, around: (commit: () => Promise<unknown>) => Promise<void>): CommitDb {
  return { ...db, executeAll: (statements) => around(() => db.executeAll(statements)) }
}
