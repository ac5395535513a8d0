/**
 * The ways to reach Postgres, from the narrowest to the widest:
 *
 * - {@link Queryable} runs one statement and returns its rows. Functions that only read take it.
 * - {@link Db} is a pool in a service's schema. Each statement is a transaction of its own. Every generated Prisma client is one.
 * - {@link CommitDb} also commits several statements as one transaction. Only folds and ticks need it ({@link openCommitDb}).
 * - `Client` is one connection of `pg`, for migrations, roles and commands that hold locks (`withClient`). {@link queryableOn}
 *   makes it a {@link Queryable}.
 */
import { empty, join, raw, Sql, sqltag } from '@prisma/client/runtime/client'
import type { Client } from 'pg'

/** A statement, or a part of one, with separate values, from Prisma's runtime: sql`SELECT ${x}`. */
export { empty, join, raw, Sql, sqltag as sql }

/**
 * A database as consumers use it. It has no transactions of Prisma: adapter-pg crashes if an interactive one times out during
 * its commit, and a batch takes one round trip per statement.
 */
export interface Db {
  $queryRaw<Rows = unknown>(statement: Sql): Promise<Rows>
  $executeRaw(statement: Sql): Promise<number>
  $disconnect(): Promise<void>
}

export type Queryable = Pick<Db, '$queryRaw'>

export interface CommitDb extends Db {
  /** Executes statements in order as one transaction, in one round trip. */
  readonly executeAll: (statements: readonly Sql[]) => Promise<void>
}

/** Returns statements over a connection, which may be in a transaction. */
export function queryableOn(client: Client): Queryable {
  return {
    $queryRaw: async <Rows>({ text, values }: Sql) => (await client.query({ text, values: [...values] })).rows as Rows,
  }
}

/** Returns a name that needs no quotes in SQL, in a search_path or in a connection's options. Throws for any other. */
export function plainIdentifier(name: string): string {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(name)) return name
  throw new Error(`"${name}" must be lower-case letters, digits and underscores, as a name in Postgres.`)
}
