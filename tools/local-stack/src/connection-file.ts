import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { consumers } from '@nextvisit/services'
import { inheritedEnvironment } from './config.ts'
import type { StackSecrets } from './stack-secrets.ts'

/** Addresses of a running stack. */
export interface Connection {
  readonly kafkaBrokers: string
  readonly redisUrl: string
  /** Addresses of the consumers' databases, by variable. */
  readonly databaseUrls: ReadonlyMap<string, string>
  /** Address for a role that may create schemas, used by `nextvisit migrate` and `nextvisit replay`, not by services. */
  readonly adminDatabaseUrl: string
}

/**
 * Writes the file that `nextvisit` commands read unless the environment names another system (tools/cli, config.ts).
 * `serviceUrls`: URLs of internal servers, by variable.
 */
export async function writeConnectionFile(
  folder: string,
  connection: Connection & { readonly serviceUrls: ReadonlyMap<string, string> },
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
      DEMO_TEST_ADMIN_KEY: secrets.testAdminKey,
      DEMO_TEST_SDK_KEY: secrets.testSdkKey,
      KAFKA_PARTITIONS: inheritedEnvironment()['KAFKA_PARTITIONS'] || undefined,
    },
  }
  await writeFile(fileIn(folder), `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
}

/** Removes the file of a stopped stack. */
export async function removeConnectionFile(folder: string): Promise<void> {
  await rm(fileIn(folder), { force: true })
}

function fileIn(folder: string): string {
  return path.join(folder, 'connection.json')
}
