import { randomBytes } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createApiKey } from '@nextvisit/domain'

/** Secrets of a stack, created at the first start and kept. */
export interface StackSecrets {
  readonly adminKey: string
  readonly sdkKey: string
  /** Keys of the demo that do not count: *Try it* uses them. */
  readonly testAdminKey: string
  readonly testSdkKey: string
  /** Value of NEXTVISIT_SECRET_KEY. */
  readonly secretKey: string
  readonly internalToken: string
  readonly databasePassword: string
  /** Operators' token of the console; the other one is for viewers. */
  readonly consoleToken: string
  readonly consoleViewerToken: string
}

/** Reads the secrets in the data folder. Creates missing ones, readable only by their owner. */
export async function readStackSecrets(folder: string): Promise<StackSecrets> {
  const file = path.join(folder, 'secrets.json')
  const kept = await readKept(file)
  const made = makeSecrets()
  const secrets = { ...made, ...kept }
  if (Object.keys(made).every((name) => Object.hasOwn(kept, name))) return secrets
  const unfinished = `${file}.unfinished`
  await writeFile(unfinished, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 })
  await rename(unfinished, file)
  return secrets
}

/** Reads the kept secrets. A folder of an older version has fewer. */
async function readKept(file: string): Promise<Partial<StackSecrets>> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Partial<StackSecrets>
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return {}
  }
}

function makeSecrets(): StackSecrets {
  return {
    adminKey: createApiKey('admin', 'P', randomBytes(32)),
    sdkKey: createApiKey('sdk', 'P', randomBytes(32)),
    testAdminKey: createApiKey('admin', 'T', randomBytes(32)),
    testSdkKey: createApiKey('sdk', 'T', randomBytes(32)),
    secretKey: randomBytes(32).toString('hex'),
    internalToken: randomBytes(32).toString('base64url'),
    databasePassword: randomBytes(24).toString('base64url'),
    consoleToken: randomBytes(24).toString('base64url'),
    consoleViewerToken: randomBytes(24).toString('base64url'),
  }
}

/** Returns the file of the demo's keys for the console, in the format of `nextvisit demo`. */
export function demoKeysFileIn(folder: string): string {
  return path.join(folder, 'demo-keys.json')
}

export async function writeDemoKeys(folder: string, secrets: StackSecrets): Promise<void> {
  const { adminKey: admin, sdkKey: sdk, testAdminKey: testAdmin, testSdkKey: testSdk } = secrets
  const keys = { admin, sdk, testAdmin, testSdk }
  await writeFile(demoKeysFileIn(folder), `${JSON.stringify(keys)}\n`, { mode: 0o600 })
}
