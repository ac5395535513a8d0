import { empty, join, raw, Sql, sqltag } from '@prisma/client/runtime/client'
import type { Client } from 'pg'

/** SQL with separate values, from Prisma's runtime: sql`SELECT ${x}`. */
export { empty, join, raw, Sql, sqltag as sql }

/** One SQL statement of a commit. */
export type Statement = Sql

/**
 * A database as consumers use it. Every generated Prisma client fits. It has no transactions of Prisma: adapter-pg crashes
 * if an interactive one times out during its commit, and a batch takes one round trip per statement.
 */
export interface Db {
  $queryRaw<Row = unknown>(query: Sql): Promise<Row>
  $executeRaw(query: Sql): Promise<number>
  $disconnect(): Promise<void>
}

/** A database that can also commit ({@link openCommitDb}). */
export interface CommitDb extends Db {
  /** Executes statements in order as one transaction, in one round trip. */
  readonly executeAll: (statements: readonly Statement[]) => Promise<void>
}

/** Runs one statement and resolves to its rows, over a service's pool or a command's connection. */
export type Query = <Row>(statement: Statement) => Promise<readonly Row[]>

export function queryOf(db: Pick<Db, '$queryRaw'>): Query {
  return <Row>(statement: Statement) => db.$queryRaw<Row[]>(statement)
}

export function queryOn(client: Client): Query {
  return async <Row>({ text, values }: Statement) =>
    (await client.query<Row & object>({ text, values: [...values] })).rows
}
