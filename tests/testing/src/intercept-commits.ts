import type { Db } from '@nextvisit/database'

/** The same database, but each commit runs inside `around`, which may fail before or after it. */
export function interceptCommits(db: Db, around: (commit: () => Promise<unknown>) => Promise<void>): Db {
  type Answer = ReturnType<Db['$executeRaw']>
  return {
    $queryRaw: (query) => db.$queryRaw(query),
    $executeRaw: (statement) =>
      statement.sql.includes('execute_all')
        ? (around(() => db.$executeRaw(statement)).then(() => 1) as Answer)
        : db.$executeRaw(statement),
    $disconnect: () => db.$disconnect(),
  }
}
