import { serviceDatabases } from '@nextvisit/database'
import type { Environment } from '@nextvisit/service-kit'
import type { Client, QueryResultRow } from 'pg'
import { connectConsumer, consumerUrl } from '../consumer-database.ts'
import { type Checkpoint, readCheckpoints } from '../status/read-consumer.ts'

/** A connection to a consumer's schema. It reconnects after a failure. */
export interface ServiceSession {
  readonly query: <Row extends QueryResultRow>(text: string, values: readonly unknown[]) => Promise<readonly Row[]>
  readonly checkpoints: () => Promise<readonly Checkpoint[]>
  readonly close: () => Promise<void>
}

/** Opens one session per consumer. If an address is missing, the error says what to do. */
export function openSessions(env: Environment): ReadonlyMap<string, ServiceSession> {
  return new Map(
    serviceDatabases.map((database) => {
      const { service, schema } = database
      return [service, createSession(consumerUrl(env, database), service, schema)]
    }),
  )
}

function createSession(url: string, service: string, schema: string): ServiceSession {
  let connected: Promise<Client> | undefined

  const withClient = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    connected ??= connectConsumer(url, schema)
    const current = connected
    try {
      return await work(await current)
    } catch (error) {
      connected = undefined
      current.then((client) => client.end()).catch(() => {})
      throw error
    }
  }

  return {
    query: (text, values) => withClient(async (client) => (await client.query(text, [...values])).rows),
    checkpoints: () => withClient((client) => readCheckpoints(client, service)),
    close: async () => {
      await connected?.then((client) => client.end()).catch(() => {})
    },
  }
}
