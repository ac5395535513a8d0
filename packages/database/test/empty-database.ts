import { randomBytes } from 'node:crypto'
import { withClient } from '../src/connect/with-client.ts'

/** A database without a schema. Specs of other packages use `createTestDatabase` of `@nextvisit/testing`. */
export interface EmptyDatabase {
  readonly url: string
  readonly name: string
  readonly run: (statement: string) => Promise<Record<string, unknown>[]>
  readonly drop: () => Promise<void>
}

export async function createEmptyDatabase(serverUrl: string): Promise<EmptyDatabase> {
  const name = `database_test_${randomBytes(6).toString('hex')}`
  const target = new URL(serverUrl)
  target.pathname = `/${name}`
  await withClient(serverUrl, (client) => client.query(`CREATE DATABASE ${name}`))
  return {
    url: target.href,
    name,
    run: (statement) =>
      withClient(target.href, async (client) => (await client.query<Record<string, unknown>>(statement)).rows),
    drop: () =>
      withClient(serverUrl, async (client) => void (await client.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  }
}
