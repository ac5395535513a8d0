import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { consumers } from '@nextvisit/services'
import type { StackSecrets } from './stack-secrets.ts'

/** How to reach a running stack. */
export interface Connection {
  readonly kafkaBrokers: string
  readonly redisUrl: string
  /** Each service's own, by its variable. */
  readonly databaseUrls: ReadonlyMap<string, string>
  /** Of a role that may make schemas: for `nextvisit migrate` and `nextvisit replay`, and for no service. */
  readonly adminDatabaseUrl: string
}

/** And the services on it, once they run. */
export interface RunningConnection extends Connection {
  /** Of their internal servers, by variable. */
  readonly serviceUrls: ReadonlyMap<string, string>
}

/** Leaves word for `nextvisit` commands, which read it where the environment does not say (tools/cli, config.ts). */
export async function writeConnectionFile(
  folder: string,
  connection: RunningConnection,
  secrets: StackSecrets,
): Promise<void> {
  const databaseUrls = consumers.map(({ name, databaseVariable }) => [
    name,
    connection.databaseUrls.get(databaseVariable),
  ])
  const content = {
    pid: process.pid,
    kafkaBrokers: connection.kafkaBrokers,
    databaseUrls: Object.fromEntries(databaseUrls),
    adminDatabaseUrl: connection.adminDatabaseUrl,
    redisUrl: connection.redisUrl,
    serviceUrls: Object.fromEntries(connection.serviceUrls),
    internalToken: secrets.internalToken,
    secretKey: secrets.secretKey,
    environment: { DEMO_ADMIN_KEY: secrets.adminKey, DEMO_SDK_KEY: secrets.sdkKey },
  }
  await writeFile(fileIn(folder), `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
}

/** A stack that does not run cannot be reached. */
export async function removeConnectionFile(folder: string): Promise<void> {
  await rm(fileIn(folder), { force: true })
}

function fileIn(folder: string): string {
  return path.join(folder, 'connection.json')
}
