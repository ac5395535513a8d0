import type { Client } from 'pg'
import type { Db, Statement } from './sql.ts'

/** Runs one statement, and resolves to its rows. A service's connections and a command's can. */
export type Query = <Row>(statement: Statement) => Promise<readonly Row[]>

export function queryOf(db: Pick<Db, '$queryRaw'>): Query {
  return <Row>(statement: Statement) => db.$queryRaw<Row[]>(statement)
}

export function queryOn(client: Client): Query {
  return async <Row>({ text, values }: Statement) =>
    (await client.query<Row & object>({ text, values: [...values] })).rows
}
