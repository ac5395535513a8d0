import { empty, join, raw, Sql, sqltag } from '@prisma/client/runtime/client'

/** SQL with its values apart, from Prisma's runtime: sql`SELECT ${x}`. */
export { empty, join, raw, Sql, sqltag as sql }

/** One SQL statement of a commit. */
export type Statement = Sql

/**
 * What the core needs of a database: any generated Prisma client fits. No transactions of Prisma's: adapter-pg crashes when
 * an interactive one times out while it commits, and a batch takes a round trip a statement; `executeAll` takes one.
 */
export interface Db {
  $queryRaw<Row = unknown>(query: Sql): PrismaPromiseLike<Row>
  $executeRaw(query: Sql): PrismaPromiseLike<number>
  $disconnect(): Promise<void>
}

// Structural, so that this package needs no generated client. The parameter is Prisma's own brand.
type PrismaPromiseLike<T> = Promise<T> & { readonly [Symbol.toStringTag]: 'PrismaPromise' }
