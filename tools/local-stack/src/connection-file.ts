import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { consumers } from '@nextvisit/services'
import { inheritedEnvironment } from './config.ts'
import type { StackSecrets } from './stack-secrets.ts'

/** How to reach a running stack. */
export interface Connection {
  readonly kafkaBrokers: string
  readonly redisUrl: string
  /** Each consumer's own, by its variable. */
  readonly databaseUrls: ReadonlyMap<string, string>
  /** Of a role that may create schemas: for `nextvisit migrate` and `nextvisit replay`, not for services. */
  readonly adminDatabaseUrl: string
}

/** The same, with the running services. */
export interface RunningConnection extends Connection {
  /** URLs of their internal servers, by variable. */
  readonly serviceUrls: ReadonlyMap<string, string>
}

/** For `nextvisit` commands, which read it unless the environment names another system (tools/cli, config.ts). */
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
    environment: {
      DEMO_ADMIN_KEY: secrets.adminKey,
      DEMO_SDK_KEY: secrets.sdkKey,
      KAFKA_PARTITIONS: inheritedEnvironment()['KAFKA_PARTITIONS'] || undefined,
    },
  }
  await writeFile(fileIn(folder), `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
}

/** Removed when the stack stops, because it can no longer be reached. */
export async function removeConnectionFile(folder: string): Promise<void> {
  await rm(fileIn(folder), { force: true })
}

function fileIn(folder: string): string {
  return path.join(folder, 'connection.json')
}
