import { empty, join, raw, Sql, sqltag } from '@prisma/client/runtime/client'

/** SQL with its values apart, from Prisma's runtime: sql`SELECT ${x}`. */
export { empty, join, raw, Sql, sqltag as sql }

/** One SQL statement of a commit. */
export type Statement = Sql

/**
 * What the core needs of a database: any generated Prisma client fits. No transactions of Prisma's: adapter-pg crashes when
 * an interactive one times out while it commits, and a batch takes a round trip a statement.
 */
export interface Db {
  $queryRaw<Row = unknown>(query: Sql): Promise<Row>
  $executeRaw(query: Sql): Promise<number>
  $disconnect(): Promise<void>
}

/** A database that also commits ({@link openCommitDb}). */
export interface CommitDb extends Db {
  /** Executes statements in order, all of them or none, in one round trip. */
  readonly executeAll: (statements: readonly Statement[]) => Promise<void>
}
